package mapping

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// wire writes a request as it goes out: method, path, query, headers and body.
func wire(req rest.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", req.Method, req.Path)
	for i, q := range req.Query {
		fmt.Fprintf(&b, "%c%s=%s", "?&"[min(i, 1)], q.Name, q.Value)
	}
	for _, h := range req.Headers {
		fmt.Fprintf(&b, "\n%s: %s", h.Name, h.Value)
	}
	if req.Body != nil {
		fmt.Fprintf(&b, "\n%s\n%s", req.ContentType, req.Body)
	}
	return b.String()
}

// example is a mapping of a real API with a custom resource, and what is known of its object.
type example struct {
	mapping, self string
	identifiers   map[string]string
	secrets       map[string]string
}

func (e example) pass(t *testing.T) *Pass {
	t.Helper()
	m := decode[v1alpha1.RestMapping](t, "metadata: {name: example}\nspec:\n  target: {group: example.com, version: v1, kind: Example}\n"+
		"  endpoint: {kind: ClusterRestEndpoint, name: server}\n"+e.mapping)
	p := mustCompile(t, m, TargetSchema{Namespaced: true, StatusSubresource: true})
	s := p.NewPass(Inputs{Self: self(t, e.self), Secrets: e.secrets})
	ids, err := s.Identifiers(t.Context())
	noError(t, err)
	maps.Copy(ids, e.identifiers)
	s.SetIdentifiers(ids)
	return s
}

func wantWire(t *testing.T, want string, build func() (rest.Request, error)) {
	t.Helper()
	req, err := build()
	noError(t, err)
	if diff := cmp.Diff(want, wire(req)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func wantDifferences(t *testing.T, s *Pass, observed any, want ...string) {
	t.Helper()
	got, err := s.Compare(t.Context(), observed)
	noError(t, err)
	var paths []string
	for _, d := range got.Differences {
		paths = append(paths, d.Path)
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestExampleGitHubRepository(t *testing.T) {
	t.Parallel()
	s := example{mapping: `
  identifiers:
  - {name: owner, value: self.spec.owner}
  - {name: repo, value: self.metadata.name}
  operations:
    read: {path: "/repos/{owner}/{repo}", accept: application/vnd.github+json, headers: [{name: X-GitHub-Api-Version, value: "'2022-11-28'"}]}
    create: {path: "/orgs/{owner}/repos"}
    update: {method: PATCH, path: "/repos/{owner}/{repo}"}
    delete: {path: "/repos/{owner}/{repo}"}
  fields:
  - {to: name, from: metadata.name, operations: [Create]}
  - {to: description, from: spec.description}
  - {to: private, value: "self.spec.visibility == 'private'"}
  - {to: topics, from: spec.topics, compare: Set}
  ready: {expression: "!observed.archived", message: the repository is archived}
  outcomes:
  - {operations: [Create], when: "response.status == 422 && response.body.errors.exists(e, e.message.contains('already exists'))", outcome: Conflict}
`, self: `{metadata: {name: shop, uid: u1}, spec: {owner: acme, visibility: private, description: "<shop>", topics: [go, k8s]}}`}.pass(t)

	wantWire(t, "GET /repos/acme/shop\nX-GitHub-Api-Version: 2022-11-28", func() (rest.Request, error) { return s.ReadRequest(t.Context()) })
	wantWire(t, "POST /orgs/acme/repos\napplication/json\n"+`{"description":"<shop>","name":"shop","private":true,"topics":["go","k8s"]}`,
		func() (rest.Request, error) { return s.CreateRequest(t.Context()) })
	observed, present, err := s.Select(t.Context(), rest.Read,
		jsonResponse(t, 200, `{"id":1,"name":"shop","private":false,"description":"<shop>","topics":["k8s","go"],"archived":false}`))
	noError(t, err)
	if !present {
		t.Fatal("the object is there")
	}
	wantDifferences(t, s, observed, "private")
	wantWire(t, "PATCH /repos/acme/shop\napplication/json\n"+`{"private":true}`, func() (rest.Request, error) { return s.UpdateRequest(t.Context(), observed) })
	wantWire(t, "DELETE /repos/acme/shop", func() (rest.Request, error) { return s.DeleteRequest(t.Context(), observed) })
	if safety, _ := s.program.CreateSafety(); safety != v1alpha1.SafetyUniqueKey {
		t.Errorf("safety %s", safety)
	}
	outcome, _, _, err := s.Outcome(t.Context(), rest.Create, jsonResponse(t, 422, `{"message":"x","errors":[{"message":"name already exists on this account"}]}`))
	if err != nil || outcome != v1alpha1.OutcomeConflict {
		t.Errorf("outcome %q, %v", outcome, err)
	}
}

func TestExampleKeycloakClient(t *testing.T) {
	t.Parallel()
	keycloak := example{
		mapping: `
  identifiers:
  - {name: realm, value: self.spec.realm}
  - {name: id, assigned: "has(response.headers.location) ? lastSegment(response.headers.location) : response.body.id"}
  secrets:
  - {name: secret, refExpression: self.spec.secretRef}
  operations:
    read: {path: "/admin/realms/{realm}/clients/{id}"}
    list: {path: "/admin/realms/{realm}/clients", match: item.clientId == self.spec.clientId,
           pagination: {type: Offset, offsetParam: first, limitParam: max, limit: 2}}
    create: {path: "/admin/realms/{realm}/clients", safety: UniqueKey}
    update: {method: PUT, path: "/admin/realms/{realm}/clients/{id}", body: Overlay}
    delete: {path: "/admin/realms/{realm}/clients/{id}"}
  fields:
  - {to: clientId, from: spec.clientId}
  - {to: redirectUris, from: spec.redirectUris, compare: Set}
  - {to: attributes, value: "{'access.token.lifespan': string(self.spec.lifespan)}"}
  - {to: secret, value: secrets.secret, writeOnly: true}
`,
		self:    `{metadata: {name: web, uid: u1}, spec: {realm: a/b, clientId: web, redirectUris: ["https://x/*"], lifespan: 300, secretRef: {name: s, key: k}}}`,
		secrets: map[string]string{"secret": "hunter2"},
	}
	s := keycloak.pass(t)
	_, err := s.ReadRequest(t.Context())
	wantError(t, err, "spec.operations.read.path", `"id"`, "not known")
	wantWire(t, "POST /admin/realms/a%2Fb/clients\napplication/json\n"+
		`{"attributes":{"access.token.lifespan":"300"},"clientId":"web","redirectUris":["https://x/*"],"secret":"hunter2"}`,
		func() (rest.Request, error) { return s.CreateRequest(t.Context()) })
	created, err := s.Assigned(t.Context(), &rest.Response{Status: 201, Headers: map[string]string{"location": "https://kc/admin/realms/a%2Fb/clients/c-1"}})
	noError(t, err)
	if created["id"] != "c-1" {
		t.Errorf("assigned %v", created)
	}

	pages := map[string]string{"0": `[{"id":"c-8","clientId":"x"},{"id":"c-9","clientId":"y"}]`, "2": `[{"id":"c-1","clientId":"web"}]`, "3": `[]`}
	matches, requests, err := walk(t, s, func(req rest.Request) *rest.Response { return jsonResponse(t, 200, pages[queryOf(req, "first")]) })
	noError(t, err)
	if len(matches) != 1 || len(requests) != 3 || wire(requests[1]) != "GET /admin/realms/a%2Fb/clients?first=2&max=2" {
		t.Fatalf("matches %v, requests %v", matches, requests)
	}
	found, err := s.AssignedFromItem(t.Context(), matches[0])
	noError(t, err)
	s.SetIdentifiers(map[string]string{"realm": "a/b", "id": found["id"]})

	observed := object(t, `{"id":"c-1","clientId":"web","enabled":true,"redirectUris":["https://y/*"],"secret":"*****","attributes":{"access.token.lifespan":"300","other":"x"}}`)
	wantDifferences(t, s, observed, "redirectUris")
	wantWire(t, "PUT /admin/realms/a%2Fb/clients/c-1\napplication/json\n"+
		`{"attributes":{"access.token.lifespan":"300","other":"x"},"clientId":"web","enabled":true,"id":"c-1","redirectUris":["https://x/*"],"secret":"hunter2"}`,
		func() (rest.Request, error) { return s.UpdateRequest(t.Context(), observed) })
}

func TestExampleRabbitMQUser(t *testing.T) {
	t.Parallel()
	s := example{
		mapping: `
  identifiers:
  - {name: vhost, value: "self.spec.?vhost.orValue('/')"}
  - {name: user, value: self.spec.user}
  secrets:
  - {name: password, refExpression: self.spec.passwordRef}
  operations:
    read: {path: "/api/users/{user}"}
    create: {method: PUT, path: "/api/users/{user}"}
    update: {method: PUT, path: "/api/users/{user}"}
    delete: {path: "/api/users/{user}", query: [{name: vhost, value: identifiers.vhost}]}
  fields:
  - {to: password, value: secrets.password, writeOnly: true}
  - {to: tags, from: spec.tags, compare: Set}
`, self: `{metadata: {name: u}, spec: {user: "a b/c", tags: [administrator, management], passwordRef: {name: s, key: k}}}`,
		secrets: map[string]string{"password": "hunter2"},
	}.pass(t)
	const put = "PUT /api/users/a%20b%2Fc\napplication/json\n" + `{"password":"hunter2","tags":["administrator","management"]}`
	wantWire(t, put, func() (rest.Request, error) { return s.CreateRequest(t.Context()) })
	observed := object(t, `{"name":"a b/c","password_hash":"x","tags":["management","administrator"]}`)
	wantDifferences(t, s, observed)
	wantWire(t, put, func() (rest.Request, error) { return s.UpdateRequest(t.Context(), observed) })
	wantWire(t, "DELETE /api/users/a%20b%2Fc?vhost=/", func() (rest.Request, error) { return s.DeleteRequest(t.Context(), nil) })
	if safety, _ := s.program.CreateSafety(); safety != v1alpha1.SafetyUpsert {
		t.Errorf("safety %s", safety)
	}
}

func TestExampleVSphereBareStringIdentifier(t *testing.T) {
	t.Parallel()
	s := example{
		mapping: `
  identifiers: [{name: vm, assigned: "type(response.body) == string ? response.body : response.body.vm"}]
  operations:
    read: {path: "/api/vcenter/vm/{vm}"}
    list: {path: /api/vcenter/vm, match: item.name == self.metadata.name}
    create: {path: /api/vcenter/vm, bodyExpression: "{'spec': desired}"}
    delete: {path: "/api/vcenter/vm/{vm}"}
  fields: [{to: name, from: metadata.name, operations: [Create]}, {to: cpu.count, from: spec.cpus}]
`, self: `{metadata: {name: vm1}, spec: {cpus: 4}}`, identifiers: map[string]string{"vm": "vm-12"},
	}.pass(t)
	wantWire(t, "POST /api/vcenter/vm\napplication/json\n"+`{"spec":{"cpu":{"count":4},"name":"vm1"}}`, func() (rest.Request, error) { return s.CreateRequest(t.Context()) })
	ids, err := s.Assigned(t.Context(), jsonResponse(t, 201, `"vm-12"`))
	noError(t, err)
	fromItem, err := s.AssignedFromItem(t.Context(), object(t, `{"vm":"vm-12","name":"vm1"}`))
	noError(t, err)
	if ids["vm"] != "vm-12" || fromItem["vm"] != "vm-12" {
		t.Errorf("assigned %v, from the item %v", ids, fromItem)
	}
	wantWire(t, "GET /api/vcenter/vm/vm-12", func() (rest.Request, error) { return s.ReadRequest(t.Context()) })
	if s.program.Supports(rest.Update) {
		t.Error("there is no update: drift is reported only")
	}
}

func TestExampleElasticsearchDynamicKey(t *testing.T) {
	t.Parallel()
	s := example{
		mapping: `
  identifiers: [{name: index, value: self.metadata.name}]
  operations:
    read: {path: "/{index}/_settings", select: "response.body[identifiers.index].settings.index"}
    create: {method: PUT, path: "/{index}", bodyExpression: "{'settings': {'index': desired}}"}
    update: {method: PUT, path: "/{index}/_settings", bodyExpression: "{'index': changed}"}
    delete: {path: "/{index}"}
  fields:
  - {to: number_of_replicas, from: spec.replicas, compare: Number}
  - {to: number_of_shards, from: spec.shards, compare: Number, operations: [Create]}
`, self: `{metadata: {name: logs-1}, spec: {replicas: 2, shards: 3}}`,
	}.pass(t)
	observed, present, err := s.Select(t.Context(), rest.Read, jsonResponse(t, 200, `{"logs-1":{"settings":{"index":{"number_of_replicas":"1","number_of_shards":"3"}}}}`))
	noError(t, err)
	if !present {
		t.Fatal("the index is there")
	}
	wantDifferences(t, s, observed, "number_of_replicas")
	wantWire(t, "PUT /logs-1/_settings\napplication/json\n"+`{"index":{"number_of_replicas":2}}`, func() (rest.Request, error) { return s.UpdateRequest(t.Context(), observed) })
	wantWire(t, "PUT /logs-1\napplication/json\n"+`{"settings":{"index":{"number_of_replicas":2,"number_of_shards":3}}}`,
		func() (rest.Request, error) { return s.CreateRequest(t.Context()) })
}

func TestExampleAnAPIWithListsOnly(t *testing.T) {
	t.Parallel()
	s := example{
		mapping: `
  identifiers: [{name: id, assigned: response.body.webhook_id}]
  operations:
    list: {path: /webhooks, items: response.body.webhooks, match: "has(identifiers.id) ? string(item.webhook_id) == identifiers.id : item.?note.orValue('') == self.metadata.uid"}
    create: {path: /webhooks}
    delete: {path: "/webhooks/{id}"}
  fields: [{to: url, from: spec.url}, {to: note, from: metadata.uid}]
`, self: `{metadata: {name: hook, uid: u-1}, spec: {url: "https://x"}}`,
	}.pass(t)
	page := `{"webhooks":[{"webhook_id":7,"url":"https://x","note":"other"},{"webhook_id":9007199254740993,"url":"https://x","note":"u-1"}]}`
	answer := func(rest.Request) *rest.Response { return jsonResponse(t, 200, page) }
	matches, _, err := walk(t, s, answer)
	noError(t, err)
	if len(matches) != 1 {
		t.Fatalf("matches %v", matches)
	}
	ids, err := s.AssignedFromItem(t.Context(), matches[0])
	noError(t, err)
	s.SetIdentifiers(ids)
	again, _, err := walk(t, s, answer)
	noError(t, err)
	if diff := cmp.Diff(matches, again); diff != "" {
		t.Errorf("found by its identifier (-want +got):\n%s", diff)
	}
	wantDifferences(t, s, again[0])
	wantWire(t, "DELETE /webhooks/9007199254740993", func() (rest.Request, error) { return s.DeleteRequest(t.Context(), again[0]) })
}

func TestExampleNullDeclaredAbsent(t *testing.T) {
	t.Parallel()
	mapping := `
  identifiers: [{name: id, value: self.metadata.name}]
  operations: {read: {path: "/things/{id}"}}
`
	resp := jsonResponse(t, 200, `null`)
	undeclared := example{mapping: mapping, self: `{metadata: {name: x}}`}.pass(t)
	_, _, err := undeclared.Select(t.Context(), rest.Read, resp)
	wantError(t, err, "holds null", "spec.outcomes")

	s := example{mapping: mapping + `
  outcomes: [{operations: [Read], when: response.body == null, outcome: Absent, message: it was never there}]
`, self: `{metadata: {name: x}}`}.pass(t)
	outcome, message, matched, err := s.Outcome(t.Context(), rest.Read, resp)
	if err != nil || !matched || outcome != v1alpha1.OutcomeAbsent || message != "it was never there" {
		t.Errorf("outcome %q %q %v %v", outcome, message, matched, err)
	}
}

func TestProgramNames(t *testing.T) {
	t.Parallel()
	p := compiled(t, assignedID, selecting("response.body"))
	if diff := cmp.Diff([]string{"owner", "widget"}, p.IdentifierNames()); diff != "" {
		t.Errorf("identifiers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"widget"}, p.AssignedIdentifiers()); diff != "" {
		t.Errorf("assigned (-want +got):\n%s", diff)
	}
	if p.Route(rest.Read) != "/owners/{owner}/widgets/{widget}" || p.Route(rest.List) != "" {
		t.Error("routes are wrong")
	}
	if !p.Selects(rest.Create) || compiled(t).Selects(rest.Create) || p.Selects(rest.List) {
		t.Error("selects are wrong")
	}
}
