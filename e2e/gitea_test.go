//go:build e2e

package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/servers"
)

// mappingText reads a mapping of mappings/ with its sync interval set to two seconds, so that drift is seen within the test.
func mappingText(t *testing.T, s *suite.Suite, api, kind string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Root, "mappings", api, kind, "mapping.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "\nspec:\n", "\nspec:\n  sync: {interval: 2s}\n", 1)
}

// define applies the CRD of a kind. Those that a mapping refers to have to be there before it.
func define(s *suite.Suite, api, kind, crd string) {
	s.TB.Helper()
	s.Kubectl("apply", "-f", filepath.Join("mappings", api, kind, "crd.yaml"))
	s.Kubectl("wait", "--for=condition=Established", "crd/"+crd, "--timeout=60s")
}

// install applies the CRD and the mapping of a kind and waits until it is served.
func install(t *testing.T, s *suite.Suite, api, kind, crd, mapping string) {
	t.Helper()
	define(s, api, kind, crd)
	s.Apply("%s", mappingText(t, s, api, kind))
	s.Ready("restmapping/" + mapping)
}

func gvr(group, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: resource}
}

// TestGitea takes every kind of mappings/gitea through its life against a real Gitea: made, found changed and put back,
// changed, deleted; each by kubectl, and each looked at in Gitea itself.
func TestGitea(t *testing.T) {
	s := suite.New(t)
	gitea, err := servers.StartGitea(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gitea.Stop(); err != nil {
			t.Error(err)
		}
	})
	api := suite.NewAPI(t, gitea.BaseURL, func(r *http.Request) { r.Header.Set("Authorization", "token "+gitea.Token) })
	s.Apply(`
apiVersion: v1
kind: Secret
metadata: {name: gitea, labels: {restmapping.dev/allow-read: "true"}}
stringData: {token: %s}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: gitea}
spec:
  baseURL: %s
  auth:
    headers: [{name: Authorization, prefix: "token ", valueRef: {name: gitea, key: token}}]
  probe: {path: /user}
`, gitea.Token, gitea.BaseURL)
	s.Kubectl("apply", "-f", "mappings/gitea/rbac.yaml")
	s.Ready("restendpoint/gitea")
	define(s, "gitea", "organization", "organizations.gitea.example.com")
	for kind, names := range map[string][2]string{
		"organization": {"organizations.gitea.example.com", "gitea-organizations"},
		"repository":   {"repositories.gitea.example.com", "gitea-repositories"},
		"team":         {"teams.gitea.example.com", "gitea-teams"},
		"label":        {"labels.gitea.example.com", "gitea-labels"},
		"webhook":      {"webhooks.gitea.example.com", "gitea-webhooks"},
	} {
		install(t, s, "gitea", kind, names[0], names[1])
	}
	// All at once and in the wrong order: what depends on something waits for it.
	for _, kind := range []string{"webhook", "label", "team", "repository", "organization"} {
		s.Kubectl("apply", "-f", "mappings/gitea/"+kind+"/sample.yaml")
	}
	for _, resource := range []string{"organization/team-a", "repository/orders", "team/developers", "label/orders-kind-bug", "webhook/orders-ci"} {
		s.Ready(resource)
	}
	t.Run("everything is there once", func(t *testing.T) { giteaHasAll(t, api) })
	t.Run("what is changed in Gitea is put back", func(t *testing.T) { giteaDrift(t, s, api) })
	t.Run("what is changed in the cluster arrives", func(t *testing.T) { giteaUpdate(t, s, api) })
	t.Run("an object that was there before is left alone", func(t *testing.T) { giteaForeign(t, s, api) })
	t.Run("an organization keeps its teams", func(t *testing.T) { giteaParts(t, s, api) })
	t.Run("what refers to an organization waits for it", func(t *testing.T) { giteaReferences(t, s, api) })
	t.Run("a restart re-sends nothing", func(t *testing.T) {
		s.Operator.Stop()
		s.Start()
		giteaHasAll(t, api)
	})
	for _, resource := range []string{"organizations", "repositories", "teams", "labels", "webhooks"} {
		s.Check(gvr("gitea.example.com", resource))
	}
	t.Run("everything goes, whatever the order", func(t *testing.T) {
		s.Kubectl("delete", "organization/team-a", "--wait=false")
		s.Kubectl("delete", "webhook/orders-ci", "label/orders-kind-bug", "team/developers", "repository/orders", "--timeout=120s")
		s.Kubectl("wait", "--for=delete", "organization/team-a", "--timeout=120s")
		if api.Object("/orgs/team-a") != nil {
			t.Error("the organization is still in Gitea")
		}
	})
}

func giteaHasAll(t *testing.T, api *suite.API) {
	t.Helper()
	if got := api.Object("/orgs/team-a"); got == nil || got["description"] != "Everything of team A" {
		t.Errorf("organization: %v", got)
	}
	if got := api.Object("/repos/team-a/orders"); got == nil || got["private"] != true {
		t.Errorf("repository: %v", got)
	}
	for path, want := range map[string]int{"/repos/team-a/orders/labels": 1, "/repos/team-a/orders/hooks": 1, "/orgs/team-a/teams": 2} {
		if got := api.List(path); len(got) != want { // Gitea makes a team of owners itself
			t.Errorf("%s has %d objects, want %d: %v", path, len(got), want, got)
		}
	}
}

func giteaDrift(t *testing.T, s *suite.Suite, api *suite.API) {
	t.Helper()
	api.Must(http.MethodPatch, "/orgs/team-a", `{"description":"by hand"}`)
	api.Must(http.MethodPatch, "/repos/team-a/orders", `{"description":"by hand"}`)
	label, _ := api.List("/repos/team-a/orders/labels")[0].(map[string]any)
	id := number(label["id"])
	api.Must(http.MethodPatch, "/repos/team-a/orders/labels/"+id, `{"description":"by hand"}`)
	s.Eventually("organization, repository and label are put back", func() string {
		if got := api.Object("/orgs/team-a")["description"]; got != "Everything of team A" {
			return "organization: " + got.(string)
		}
		if got := api.Object("/repos/team-a/orders")["description"]; got != "The order service" {
			return "repository: " + got.(string)
		}
		if got := api.Object("/repos/team-a/orders/labels/" + id)["description"]; got == "by hand" {
			return "label: " + got.(string)
		}
		return ""
	})
	// It was looked at by now: one that was never found since its create is not made again.
	api.Must(http.MethodDelete, "/repos/team-a/orders/labels/"+id, "")
	s.Eventually("a label that was removed is made again, once", func() string {
		if n := len(api.List("/repos/team-a/orders/labels")); n != 1 {
			return "labels: " + number(float64(n))
		}
		return ""
	})
	s.Ready("label/orders-kind-bug")
}

func giteaUpdate(t *testing.T, s *suite.Suite, api *suite.API) {
	t.Helper()
	s.Kubectl("patch", "repository/orders", "--type=merge", "-p", `{"spec":{"description":"Orders, new"}}`)
	s.Ready("repository/orders")
	if got := api.Object("/repos/team-a/orders")["description"]; got != "Orders, new" {
		t.Errorf("description is %v", got)
	}
	s.Kubectl("patch", "label/orders-kind-bug", "--type=merge", "-p", `{"spec":{"color":"#00FF00"}}`)
	s.Ready("label/orders-kind-bug")
	label, _ := api.List("/repos/team-a/orders/labels")[0].(map[string]any)
	if label["color"] != "00ff00" {
		t.Errorf("colour is %v", label["color"])
	}
}

func giteaForeign(t *testing.T, s *suite.Suite, api *suite.API) {
	t.Helper()
	api.Must(http.MethodPost, "/orgs", `{"username":"foreign","description":"somebody else's"}`)
	s.Apply("apiVersion: gitea.example.com/v1alpha1\nkind: Organization\nmetadata: {name: foreign}\nspec: {description: ours}\n")
	s.Kubectl("wait", "--for=condition=Stalled", "organization/foreign", "--timeout=60s")
	s.Kubectl("delete", "organization/foreign", "--timeout=60s")
	if got := api.Object("/orgs/foreign"); got == nil || got["description"] != "somebody else's" {
		t.Errorf("the foreign organization is %v", got)
	}
}
