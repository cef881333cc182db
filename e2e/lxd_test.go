//go:build e2e

package e2e_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/servers"
)

// lxdScene is an installed operator with a real LXD, its storage pool, and the kinds of the ready-made mappings.
type lxdScene struct {
	*suite.Suite
	api *suite.API
}

func newLXD(t *testing.T) *lxdScene {
	t.Helper()
	server, err := servers.StartLXD(t.Context(), servers.Options{})
	if errors.Is(err, servers.ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	stops(t, server.Stop)
	s := suite.New(t)
	pair, err := tls.X509KeyPair([]byte(server.ClientCertificate), []byte(server.ClientKey))
	if err != nil {
		t.Fatal(err)
	}
	api := suite.NewTLSAPI(t, server.BaseURL, server.ServerCertificate, pair)
	api.Must(http.MethodPost, "/1.0/storage-pools", `{"name":"local","driver":"dir"}`)
	s.Apply("%s", fromFile(t, s, "mappings/lxd/endpoint.yaml",
		"    -----BEGIN CERTIFICATE-----\n    the operator's own\n    -----END CERTIFICATE-----\n", indent(4, server.ClientCertificate),
		"    -----BEGIN PRIVATE KEY-----\n    and its key\n    -----END PRIVATE KEY-----\n", indent(4, server.ClientKey),
		"      -----BEGIN CERTIFICATE-----\n      what LXD shows, /var/lib/lxd/server.crt\n      -----END CERTIFICATE-----\n", indent(6, server.ServerCertificate),
		"https://lxd.example.com:8443", server.BaseURL))
	s.Ready("restendpoint/lxd")
	installAll(t, s, "lxd", map[string]string{"project": "projects", "profile": "profiles", "volume": "volumes", "instance": "instances"})
	return &lxdScene{s, api}
}

// metadata is an object at LXD, nil when it is not there.
func (s *lxdScene) metadata(path string) map[string]any {
	inner, _ := s.api.Object(path)["metadata"].(map[string]any)
	return inner
}

// TestLXD shows who asks by a client certificate, and replaces with If-Match.
func TestLXD(t *testing.T) {
	s := newLXD(t)
	api, metadata := s.api, s.metadata
	sample(s.Suite, "lxd", "volume", "profile", "project") // what lies in a project waits for it
	project, profile, volume := "projects.lxd.example.com/team-a", "profiles.lxd.example.com/web", "volumes.lxd.example.com/orders"
	for _, resource := range []string{project, profile, volume} {
		s.Ready(resource)
	}
	t.Run("what was changed by hand is put back, and what LXD added stays", func(t *testing.T) {
		api.Must(http.MethodPatch, "/1.0/profiles/web?project=team-a", `{"config":{"boot.autostart":"true"}}`)
		api.Must(http.MethodPatch, "/1.0/projects/team-a", `{"description":"by hand"}`)
		s.Eventually("drift", func() string {
			if config, _ := metadata("/1.0/profiles/web?project=team-a")["config"].(map[string]any); len(config) != 2 {
				return "the profile has the key"
			}
			if metadata("/1.0/projects/team-a")["description"] != "Everything of team A" {
				return "the project has the description"
			}
			return ""
		})
		if config, _ := metadata("/1.0/projects/team-a")["config"].(map[string]any); len(config) < 3 {
			t.Errorf("the project has lost configuration: %v", config)
		}
	})
	for _, resource := range []string{"projects", "profiles", "volumes"} {
		s.Check(gvr("lxd.example.com", resource))
	}
	t.Run("everything goes, whatever the order", func(t *testing.T) {
		s.Kubectl("delete", project, "--wait=false")
		s.Kubectl("delete", profile, volume, "--timeout=150s")
		s.Kubectl("wait", "--for=delete", project, "--timeout=150s")
		if metadata("/1.0/projects/team-a") != nil {
			t.Error("the project is still there")
		}
	})
}

const (
	instancePath = "/1.0/instances/shop?project=team-a"
	instance     = "instances.lxd.example.com/shop"
)

// TestLXDInstances follows what LXD does later: it is made, replaced and deleted by operations, which fail inside and are
// forgotten.
func TestLXDInstances(t *testing.T) {
	s := newLXD(t)
	sample(s.Suite, "lxd", "instance", "profile", "project") // it waits for its project and its profile
	s.Ready(instance)
	if got := s.metadata(instancePath); got["description"] != "The shop" || got["status"] != "Stopped" {
		t.Fatalf("the instance is %v", got)
	}
	uuid := volatileUUID(s)
	t.Run("a replace keeps what LXD keeps there for itself", func(t *testing.T) {
		s.Kubectl("patch", instance, "--type=merge", "-p", `{"spec":{"description":"The new shop","config":{"boot.autostart":null,"limits.memory":"64MiB"}}}`)
		s.Ready(instance)
		got := s.metadata(instancePath)
		config, _ := got["config"].(map[string]any)
		if _, still := config["boot.autostart"]; still || config["limits.memory"] != "64MiB" || got["description"] != "The new shop" {
			t.Errorf("the instance is %v", got)
		}
		if now := volatileUUID(s); now != uuid || now == "" {
			t.Errorf("the instance had the UUID %q, and has %q", uuid, now)
		}
	})
	t.Run("what was changed by hand is put back", func(*testing.T) {
		s.api.Must(http.MethodPatch, instancePath, `{"config":{"boot.autostart":"false"}}`)
		s.Eventually("drift", func() string {
			if config, _ := s.metadata(instancePath)["config"].(map[string]any); config["boot.autostart"] != nil {
				return "the instance has the key"
			}
			return ""
		})
	})
	t.Run("an operation that fails inside says why", func(*testing.T) {
		s.Kubectl("patch", instance, "--type=merge", "-p", `{"spec":{"config":{"limits.memory":"bogus"}}}`)
		reads(s.Suite, instance, "Stalled", "RequestRejected", "Invalid value: bogus")
		s.Kubectl("patch", instance, "--type=merge", "-p", `{"spec":{"config":{"limits.memory":"32MiB"}}}`)
		s.Ready(instance)
	})
	t.Run("a name that is taken shows in the operation alone", func(t *testing.T) { s.nameTaken(t) })
	t.Run("a create that fails inside is tried again when it is put right", func(*testing.T) {
		s.Apply("%s", lxdInstance("broken", `config: {nope: "1"}`))
		reads(s.Suite, "instances.lxd.example.com/broken", "Stalled", "RequestRejected", "Unknown configuration key: nope")
		s.Apply("%s", lxdInstance("broken", `config: {user.nope: "1"}`))
		s.Ready("instances.lxd.example.com/broken")
	})
	t.Run("one that refers to its project holds it", func(*testing.T) {
		s.Apply("apiVersion: lxd.example.com/v1alpha1\nkind: Volume\nmetadata: {name: held}\nspec: {pool: local, projectRef: {name: team-b}}\n")
		reads(s.Suite, "volumes.lxd.example.com/held", "Ready", "ReferenceNotFound", "Project default/team-b")
		s.Apply("apiVersion: lxd.example.com/v1alpha1\nkind: Project\nmetadata: {name: team-b}\nspec: {}\n")
		s.Ready("volumes.lxd.example.com/held")
		s.Kubectl("delete", "projects.lxd.example.com/team-b", "volumes.lxd.example.com/held", "--timeout=150s")
	})
	for _, object := range s.Check(gvr("lxd.example.com", "instances")) {
		if strings.Contains(object.GetAnnotations()["restmapping.dev/record"], `"underway"`) {
			t.Errorf("%s still names an operation", object.GetName())
		}
	}
	t.Run("what runs is stopped before it is deleted", func(t *testing.T) { s.deletesRunning(t) })
	t.Run("everything goes at once", func(t *testing.T) {
		s.Kubectl("delete", instance, "instances.lxd.example.com/broken", "projects.lxd.example.com/team-a", "profiles.lxd.example.com/web", "--timeout=150s")
		if s.metadata("/1.0/projects/team-a") != nil {
			t.Error("the project is still there")
		}
	})
}

// nameTaken: an instance that somebody else made between the look and the create.
func (s *lxdScene) nameTaken(t *testing.T) {
	t.Helper()
	s.api.Must(http.MethodPost, "/1.0/instances?project=team-a",
		`{"name":"taken","type":"container","description":"theirs","source":{"type":"none"},"devices":{"root":{"type":"disk","path":"/","pool":"local"}}}`)
	s.Eventually("an instance of somebody else", func() string {
		if s.metadata("/1.0/instances/taken?project=team-a") == nil {
			return "it is not there"
		}
		return ""
	})
	s.Apply("%s", lxdInstance("taken", "description: ours"))
	reads(s.Suite, "instances.lxd.example.com/taken", "Stalled", "NotAdoptable", "")
	s.Kubectl("delete", "instances.lxd.example.com/taken", "--timeout=150s")
	got := s.metadata("/1.0/instances/taken?project=team-a")
	if got["description"] != "theirs" {
		t.Errorf("the instance of somebody else is %v", got)
	}
	s.api.Must(http.MethodDelete, "/1.0/instances/taken?project=team-a", "")
}

// deletesRunning deletes an instance that really runs.
func (s *lxdScene) deletesRunning(t *testing.T) {
	t.Helper()
	const path = "/1.0/instances/runs?project=team-a"
	image := s.importImage(t, "team-a")
	s.Apply("%s", lxdInstance("runs", "config: {security.privileged: \"true\"}\n  source: {type: image, fingerprint: "+image+"}"))
	s.Ready("instances.lxd.example.com/runs")
	s.api.Must(http.MethodPut, "/1.0/instances/runs/state?project=team-a", `{"action":"start","timeout":30}`)
	s.Eventually("it runs", func() string {
		state, _ := s.metadata(path)["status"].(string)
		if state == "Running" && s.Kubectl("get", "instances.lxd.example.com/runs", "-o", "jsonpath={.status.state}") == state {
			return ""
		}
		return state
	})
	s.Kubectl("delete", "instances.lxd.example.com/runs", "--timeout=150s")
	if got := s.metadata(path); got != nil {
		t.Errorf("the instance is still there: %v", got)
	}
	s.api.Must(http.MethodDelete, "/1.0/images/"+image+"?project=team-a", "") // or the project would count as in use
}

func volatileUUID(s *lxdScene) string {
	config, _ := s.metadata(instancePath)["config"].(map[string]any)
	uuid, _ := config["volatile.uuid"].(string)
	return uuid
}

// lxdInstance is an empty container in the project of the samples.
func lxdInstance(name, more string) string {
	return "apiVersion: lxd.example.com/v1alpha1\nkind: Instance\nmetadata: {name: " + name + "}\nspec:\n  project: team-a\n" +
		"  devices: {root: {type: disk, path: /, pool: local}}\n  " + more + "\n"
}
