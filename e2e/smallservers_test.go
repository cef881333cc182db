//go:build e2e

package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/servers"
)

// stops ends a server with the test.
func stops(t *testing.T, stop func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// installAll installs the kinds of an API with the operator's rights on them.
func installAll(t *testing.T, s *suite.Suite, api string, kinds map[string]string) {
	t.Helper()
	s.Kubectl("apply", "-f", filepath.Join("mappings", api, "rbac.yaml"))
	for kind, plural := range kinds {
		define(s, api, kind, plural+"."+api+".example.com")
	}
	for kind, plural := range kinds {
		install(t, s, api, kind, plural+"."+api+".example.com", api+"-"+plural)
	}
}

func sample(s *suite.Suite, api string, kinds ...string) {
	for _, kind := range kinds {
		s.Kubectl("apply", "-f", filepath.Join("mappings", api, kind, "sample.yaml"))
	}
}

// TestAlertmanager takes a silence through its life: its id changes with every update, and a delete leaves it readable.
func TestAlertmanager(t *testing.T) {
	s := suite.New(t)
	server, err := servers.StartAlertmanager(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stops(t, server.Stop)
	api := suite.NewAPI(t, server.BaseURL, func(*http.Request) {})
	alive := func() (found []map[string]any) {
		for _, item := range api.List("/silences") {
			silence, _ := item.(map[string]any)
			if state, _ := silence["status"].(map[string]any); state["state"] != "expired" {
				found = append(found, silence)
			}
		}
		return found
	}
	s.Apply("apiVersion: restmapping.dev/v1alpha1\nkind: RestEndpoint\nmetadata: {name: alertmanager}\nspec: {baseURL: %q, probe: {path: /status}}\n", server.BaseURL)
	s.Ready("restendpoint/alertmanager")
	installAll(t, s, "alertmanager", map[string]string{"silence": "silences"})
	sample(s, "alertmanager", "silence")
	s.Ready("silence/maintenance")
	was := alive()
	if len(was) != 1 {
		t.Fatalf("want one silence, got %v", was)
	}
	t.Run("an update gives it another id, and it is followed", func(t *testing.T) {
		s.Kubectl("patch", "silence/maintenance", "--type=merge", "-p", `{"spec":{"comment":"Two days","matchers":[{"name":"cluster","value":"eu-2"}]}}`)
		s.Ready("silence/maintenance")
		now := alive()
		if len(now) != 1 || now[0]["comment"] != "Two days" || now[0]["id"] == was[0]["id"] {
			t.Errorf("want one silence with another id than %v, got %v", was[0]["id"], now)
		}
		s.Eventually("the id in the status", func() string {
			if got := s.Kubectl("get", "silence/maintenance", "-o", "jsonpath={.status.identifiers.id}"); got != now[0]["id"] {
				return got
			}
			return ""
		})
	})
	t.Run("one that is expired by hand is made again", func(*testing.T) {
		id, _ := alive()[0]["id"].(string)
		api.Must(http.MethodDelete, "/silence/"+id, "")
		s.Eventually("silence", func() string {
			if len(alive()) != 1 {
				return "there is none"
			}
			return ""
		})
	})
	s.Check(gvr("alertmanager.example.com", "silences"))
	s.Kubectl("delete", "silence/maintenance", "--timeout=150s")
	if left := alive(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPocketBase logs in for a session, and tells 400 from 400 by what stands in the body.
func TestPocketBase(t *testing.T) {
	s := suite.New(t)
	server, err := servers.StartPocketBase(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stops(t, server.Stop)
	login := suite.NewAPI(t, server.BaseURL, func(*http.Request) {})
	answer, _ := login.Must(http.MethodPost, "/api/collections/_superusers/auth-with-password",
		`{"identity":"`+server.User+`","password":"`+server.Password+`"}`).(map[string]any)
	token, _ := answer["token"].(string)
	api := suite.NewAPI(t, server.BaseURL, func(r *http.Request) { r.Header.Set("Authorization", token) })
	s.Apply("%s", fromFile(t, s, "mappings/pocketbase/endpoint.yaml", "change-me", server.Password,
		"https://pocketbase.example.com", server.BaseURL, "operator@example.com", server.User))
	s.Ready("restendpoint/pocketbase")
	installAll(t, s, "pocketbase", map[string]string{"collection": "collections", "record": "records"})
	sample(s, "pocketbase", "record", "collection") // the record waits for its collection
	collection, record := "collections.pocketbase.example.com/projects", "records.pocketbase.example.com/first"
	s.Ready(collection)
	s.Ready(record)
	id := s.Kubectl("get", record, "-o", "jsonpath={.status.identifiers.id}")
	t.Run("a rule that is opened by hand is closed", func(*testing.T) {
		api.Must(http.MethodPatch, "/api/collections/projects", `{"deleteRule":"","listRule":null}`)
		s.Eventually("rules", func() string {
			now := api.Object("/api/collections/projects")
			if now["deleteRule"] != nil || now["listRule"] != "" {
				return "they are still as made by hand"
			}
			return ""
		})
	})
	t.Run("a field that is added keeps the records", func(t *testing.T) {
		s.Kubectl("patch", collection, "--type=json", "-p", `[{"op":"add","path":"/spec/fields/-","value":{"name":"budget","type":"number"}}]`)
		s.Ready(collection)
		s.Kubectl("patch", record, "--type=merge", "-p", `{"spec":{"data":{"budget":7}}}`)
		s.Ready(record)
		got := api.Object("/api/collections/projects/records/" + id)
		if got["title"] != "The first project" || got["budget"] != float64(7) {
			t.Errorf("the record is %v", got)
		}
	})
	t.Run("what the server says of a field is shown", func(*testing.T) {
		s.Apply("apiVersion: pocketbase.example.com/v1alpha1\nkind: Record\nmetadata: {name: second}\nspec: {collection: projects, data: {title: The first project}}\n")
		s.Eventually("the words", func() string {
			message := s.Kubectl("get", "records.pocketbase.example.com/second", "-o", "jsonpath={.status.conditions[?(@.type==\"Stalled\")].message}")
			if !strings.Contains(message, "Value must be unique") {
				return message
			}
			return ""
		})
		s.Kubectl("delete", "records.pocketbase.example.com/second", "--timeout=150s")
	})
	for _, resource := range []string{"collections", "records"} {
		s.Check(gvr("pocketbase.example.com", resource))
	}
	s.Kubectl("delete", record, collection, "--timeout=150s")
	if api.Object("/api/collections/projects") != nil {
		t.Error("the collection is still there")
	}
}

// fromFile gives a file with texts replaced, pair by pair.
func fromFile(t *testing.T, s *suite.Suite, path string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Root, path))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			t.Fatalf("%s does not hold %q", path, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(string(text))
}

func indent(by int, text string) string {
	margin := strings.Repeat(" ", by)
	return margin + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+margin) + "\n"
}
