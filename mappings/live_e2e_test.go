//go:build e2e

package mappings

import (
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/restmapping/operator/internal/goldenmapping"
	"github.com/restmapping/operator/internal/servers"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// These tests play the samples against real servers, request by request as the operator would. They show what no
// script can: that an object which was just written reads back without a difference.

// edit is how a sample is changed; nil for a kind that cannot be changed.
type edit struct {
	kind   string
	change func(spec map[string]any)
	// again is what a second create means.
	again lifecycle.Outcome
}

func TestGiteaMappingsAgainstGitea(t *testing.T) {
	server, err := servers.StartGitea(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := connect(t, httpapi.Config{BaseURL: server.BaseURL, Credential: httpapi.Credential{
		Headers: []httpapi.SecretHeader{{Name: "Authorization", Prefix: "token ", Value: httpapi.NewSecret(server.Token)}},
	}})
	waits(t, client, "gitea/repository", "owner", "nobody", rest.Create)
	waits(t, client, "gitea/team", "organization", "nobody", rest.List)
	waits(t, client, "gitea/team", "organization", "nobody", rest.Create)
	for _, kind := range []string{"label", "webhook"} {
		waits(t, client, "gitea/"+kind, "repository", "nothing", rest.List)
		waits(t, client, "gitea/"+kind, "repository", "nothing", rest.Create)
	}
	waits(t, client, "gitea/branchprotection", "repository", "nothing", rest.Create)
	playAll(t, client, "gitea", []edit{
		{"organization", func(s map[string]any) { s["visibility"], s["description"] = "limited", "" }, lifecycle.Conflict},
		{"repository", func(s map[string]any) {
			s["visibility"], s["wiki"], s["website"] = "public", false, "https://example.com"
		}, lifecycle.Conflict},
		{"team", func(s map[string]any) {
			s["units"], s["includesAllRepositories"] = map[string]any{"repo.code": "read", "repo.wiki": "write"}, false
		}, lifecycle.Conflict},
		{"label", func(s map[string]any) { s["name"], s["color"] = "kind/defect", "00aabb" }, lifecycle.Success},
		{"webhook", func(s map[string]any) {
			s["events"], s["active"] = []any{"issues", "release"}, false
		}, lifecycle.Success},
		{"branchprotection", func(s map[string]any) {
			s["statusChecks"], s["requiredApprovals"], s["dismissStaleApprovals"] = []any{}, int64(2), true
		}, lifecycle.Conflict},
	})
}

func TestRabbitMQMappingsAgainstRabbitMQ(t *testing.T) {
	server, err := servers.StartRabbitMQ(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := connect(t, httpapi.Config{BaseURL: server.BaseURL, Credential: httpapi.Credential{
		Basic: &httpapi.Basic{Username: httpapi.NewSecret(server.User), Password: httpapi.NewSecret(server.Password)},
	}})
	waits(t, client, "rabbitmq/permission", "user", "ghost", rest.Create)
	waits(t, client, "rabbitmq/permission", "vhost", "nowhere", rest.Create)
	waits(t, client, "rabbitmq/queue", "vhost", "nowhere", rest.Create)
	waits(t, client, "rabbitmq/policy", "vhost", "nowhere", rest.Create)
	playAll(t, client, "rabbitmq", []edit{
		{"virtualhost", func(s map[string]any) { s["tags"], s["description"] = []any{"b", "a"}, "" }, lifecycle.Success},
		{"user", func(s map[string]any) { s["tags"] = []any{"management", "monitoring"} }, lifecycle.Success},
		{"permission", func(s map[string]any) { s["configure"] = "^$" }, lifecycle.Success},
		{"queue", nil, lifecycle.Success},
		{"policy", func(s map[string]any) {
			s["definition"], s["priority"] = map[string]any{"max-length": int64(7)}, int64(0)
		}, lifecycle.Success},
	})
}

func TestPowerDNSMappingsAgainstPowerDNS(t *testing.T) {
	server, err := servers.StartPowerDNS(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := connect(t, httpapi.Config{BaseURL: server.BaseURL, Credential: httpapi.Credential{
		Headers: []httpapi.SecretHeader{{Name: "X-API-Key", Value: httpapi.NewSecret(server.Key)}},
	}})
	waits(t, client, "powerdns/recordset", "zone", "nowhere.example", rest.Create)
	playAll(t, client, "powerdns", []edit{
		{"zone", func(s map[string]any) { s["kind"], s["account"] = "Master", "" }, lifecycle.Conflict},
		{"recordset", func(s map[string]any) {
			s["ttl"], s["records"] = int64(60), []any{"2001:DB8::3", "2001:db8:0:0::1"}
		}, lifecycle.Success},
	})
}

func connect(t *testing.T, config httpapi.Config) *httpapi.Client {
	t.Helper()
	config.Addresses = httpapi.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	client, err := httpapi.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// waits checks that an operation on the sample waits when the parent that this field names is not there.
func waits(t *testing.T, client *httpapi.Client, kind, field, parent string, operation rest.Operation) {
	t.Helper()
	l := newLive(t, client, filepath.FromSlash(kind))
	spec, _ := l.object["spec"].(map[string]any)
	spec[field] = parent
	pass := l.pass(t)
	req, err := pass.CreateRequest(t.Context())
	if operation == rest.List {
		req, err = pass.ListRequest(t.Context(), mapping.Page{})
	}
	if resp, outcome := l.send(t, pass, req, err); outcome != lifecycle.Waiting {
		t.Errorf("%s of %s without its %s: want Waiting, got %s: %v", operation, kind, field, outcome, resp.Body)
	}
}

// playAll makes the objects of an API in this order, and removes them in the other.
func playAll(t *testing.T, client *httpapi.Client, api string, edits []edit) {
	t.Helper()
	var made []*live
	for _, e := range edits {
		l := newLive(t, client, filepath.Join(api, e.kind))
		t.Run(e.kind, func(t *testing.T) { l.make(t, e) })
		if t.Failed() {
			return
		}
		made = append(made, l)
	}
	holdsOthers(t, made[0], api)
	for _, l := range slices.Backward(made) {
		l.remove(t)
	}
}

// holdsOthers checks that an organization is not deleted while it owns repositories.
func holdsOthers(t *testing.T, first *live, api string) {
	t.Helper()
	if api != "gitea" {
		return
	}
	pass := first.pass(t)
	req, err := pass.DeleteRequest(t.Context(), nil)
	if resp, outcome := first.send(t, pass, req, err); outcome != lifecycle.Waiting {
		t.Errorf("delete of an organization with repositories: want Waiting, got %s: %v", outcome, resp.Body)
	}
}

// live is a sample and its object at a real server.
type live struct {
	client *httpapi.Client
	kind   *goldenmapping.Kind
	object map[string]any
	ids    map[string]string
}

func newLive(t *testing.T, client *httpapi.Client, dir string) *live {
	t.Helper()
	kind, err := goldenmapping.LoadKind(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range documents(t, filepath.Join(dir, goldenmapping.SampleFile)) {
		if !kind.Serves(object) {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		metadata["namespace"], metadata["uid"] = "team-a", "7d6e4f0a-52c1-4b7e-9c3f-0a1b2c3d4e5f"
		return &live{client: client, kind: kind, object: object}
	}
	t.Fatalf("%s has no sample", dir)
	return nil
}

// pass begins a pass over the custom resource as it is now.
func (l *live) pass(t *testing.T) *mapping.Pass {
	t.Helper()
	self := runtime.DeepCopyJSON(l.object)
	if err := l.kind.Admit(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	refs, err := l.kind.Program.SecretRefs(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{}
	for _, ref := range refs {
		secrets[ref.Input] = "a-secret-for-" + ref.Input
	}
	pass := l.kind.Program.NewPass(mapping.Inputs{Self: self, Secrets: secrets})
	chosen, err := pass.Identifiers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(chosen, l.ids)
	pass.SetIdentifiers(chosen)
	return pass
}

// send sends a request and gives the answer and what it means.
func (l *live) send(t *testing.T, pass *mapping.Pass, req rest.Request, err error) (*rest.Response, lifecycle.Outcome) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	x := l.client.Do(t.Context(), req)
	if x.Failure != nil {
		t.Fatal(x.Failure)
	}
	outcome, message, declared, err := pass.Outcome(t.Context(), req.Operation, x.Response)
	if err != nil {
		t.Fatal(err)
	}
	var d *lifecycle.Declared
	if declared {
		d = &lifecycle.Declared{Outcome: outcome, Message: message}
	}
	verdict := lifecycle.Classify(req, x, d)
	if verdict.Outcome == lifecycle.Rejected {
		t.Errorf("%s: %v", verdict.Message, x.Response.Body)
	}
	return x.Response, verdict.Outcome
}

// make makes the object, changes it, and makes it once more.
func (l *live) make(t *testing.T, e edit) {
	t.Helper()
	pass := l.pass(t)
	if found := l.search(t, pass); found != 0 {
		t.Fatalf("want nothing there before, got %d", found)
	}
	req, err := pass.CreateRequest(t.Context())
	resp, outcome := l.send(t, pass, req, err)
	if outcome != lifecycle.Success {
		t.Fatalf("create: want Success, got %s: %v", outcome, resp.Body)
	}
	if l.ids, err = pass.Assigned(t.Context(), resp); err != nil {
		t.Fatal(err)
	}
	l.settle(t)
	if found := l.search(t, l.pass(t)); found != 1 {
		t.Errorf("want to find it, got %d", found)
	}
	if e.change != nil {
		spec, _ := l.object["spec"].(map[string]any)
		e.change(spec)
		if differences := l.differences(t); len(differences) == 0 {
			t.Error("want a difference after the edit")
		}
		l.settle(t)
	}
	l.createAgain(t, e)
}

// search looks for the object as before its first create: by the list where its identifiers are assigned.
func (l *live) search(t *testing.T, pass *mapping.Pass) int {
	t.Helper()
	if !l.kind.Program.HasAssignedIdentifiers() {
		req, err := pass.ReadRequest(t.Context())
		if _, outcome := l.send(t, pass, req, err); outcome == lifecycle.Success {
			return 1
		}
		return 0
	}
	found := 0
	for page := (mapping.Page{}); ; {
		req, err := pass.ListRequest(t.Context(), page)
		resp, outcome := l.send(t, pass, req, err)
		if outcome != lifecycle.Success {
			t.Fatalf("list: %s: %v", outcome, resp.Body)
		}
		matches, next, err := pass.ListPage(t.Context(), resp, page)
		if err != nil {
			t.Fatal(err)
		}
		found += len(matches)
		if next == nil {
			return found
		}
		page = *next
	}
}

// look reads the object and gives what differs.
func (l *live) look(t *testing.T) (observed any, c mapping.Comparison) {
	t.Helper()
	pass := l.pass(t)
	req, err := pass.ReadRequest(t.Context())
	resp, outcome := l.send(t, pass, req, err)
	if outcome != lifecycle.Success {
		t.Fatalf("read: want Success, got %s: %v", outcome, resp.Body)
	}
	observed, present, err := pass.Select(t.Context(), rest.Read, resp)
	if err != nil || !present {
		t.Fatalf("want an object, got %v, %v", present, err)
	}
	if c, err = pass.Compare(t.Context(), observed); err != nil {
		t.Fatal(err)
	}
	if _, err := pass.Status(t.Context(), observed); err != nil {
		t.Error(err)
	}
	return observed, c
}

func (l *live) differences(t *testing.T) []mapping.Difference {
	t.Helper()
	_, c := l.look(t)
	return c.Differences
}

// settle updates at most once, and then nothing may differ: otherwise the operator would write for ever.
func (l *live) settle(t *testing.T) {
	t.Helper()
	observed, c := l.look(t)
	if len(c.Immutable) > 0 {
		t.Fatalf("immutable fields differ: %v", c.Immutable)
	}
	if len(c.Differences) == 0 {
		return
	}
	pass := l.pass(t)
	req, err := pass.UpdateRequest(t.Context(), observed)
	if resp, outcome := l.send(t, pass, req, err); outcome != lifecycle.Success {
		t.Fatalf("update: want Success, got %s: %v", outcome, resp.Body)
	}
	if observed, c = l.look(t); len(c.Differences)+len(c.Immutable) > 0 {
		t.Errorf("after the update these still differ: %v\nsent: %s\nread: %v", c, req.Body, observed)
	}
}

// createAgain checks what the class of create safety builds on. A double that a server allows is removed.
func (l *live) createAgain(t *testing.T, e edit) {
	t.Helper()
	pass := l.pass(t)
	req, err := pass.CreateRequest(t.Context())
	resp, outcome := l.send(t, pass, req, err)
	if outcome != e.again {
		t.Errorf("second create: want %s, got %s: %v", e.again, outcome, resp.Body)
	}
	if outcome != lifecycle.Success || !l.kind.Program.HasAssignedIdentifiers() {
		return
	}
	double, err := pass.Assigned(t.Context(), resp)
	if err != nil {
		t.Fatal(err)
	}
	kept := l.ids
	l.ids = double
	l.remove(t)
	l.ids = kept
}

// remove deletes the object; a delete of what is not there must not be an error either.
func (l *live) remove(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		pass := l.pass(t)
		req, err := pass.DeleteRequest(t.Context(), nil)
		if resp, outcome := l.send(t, pass, req, err); outcome != lifecycle.Success && outcome != lifecycle.Absent {
			t.Errorf("delete: got %s: %v", outcome, resp.Body)
		}
		req, err = pass.ReadRequest(t.Context())
		_, outcome := l.send(t, pass, req, err)
		if outcome == lifecycle.Absent {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("want it absent after the delete, got %s", outcome)
		}
	}
}
