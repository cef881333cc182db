package goldenmapping_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/internal/goldenmapping"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// mappings is the folder of the ready-made mappings.
const mappings = "../../mappings"

func load(t *testing.T, kind string) *goldenmapping.Kind {
	t.Helper()
	k, err := goldenmapping.LoadKind(filepath.Join(mappings, kind))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func object(kind, group string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": group + "/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": "orders", "namespace": "team-a", "uid": "0b5d"}, "spec": spec,
	}
}

func team() map[string]any {
	return object("Team", "gitea.example.com", map[string]any{
		"organization": "team-a", "units": map[string]any{"repo.code": "read"},
	})
}

func instance() map[string]any { return object("Instance", "lxd.example.com", map[string]any{}) }

func user() map[string]any {
	return object("User", "rabbitmq.example.com", map[string]any{
		"passwordSecretRef": map[string]any{"name": "orders", "key": "password"},
	})
}

func TestPlayRefusesAScriptThatIsNoStory(t *testing.T) {
	t.Parallel()
	page := goldenmapping.Exchange{Operation: rest.List, Status: 200, Body: []any{map[string]any{"id": int64(1), "name": "Owners"}}}
	accepted := goldenmapping.Exchange{Operation: rest.Create, Status: 202, Headers: map[string]string{"Location": "/1.0/operations/1"}}
	queue := object("Queue", "rabbitmq.example.com", map[string]any{"type": "quorum", "autoDelete": true})
	cases := map[string]struct {
		kind      string
		object    map[string]any
		exchanges []goldenmapping.Exchange
		want      string
	}{
		"a list that is not read to its end": {"gitea/team", team(), []goldenmapping.Exchange{page}, "the script ends"},
		"another request in the middle of a list": {
			"gitea/team", team(), []goldenmapping.Exchange{page, {Operation: rest.Create, Status: 201}}, "nothing else may be asked",
		},
		"a read before the number is known": {
			"gitea/team", team(), []goldenmapping.Exchange{{Operation: rest.Read, Status: 200}}, "not known yet",
		},
		"an operation that no mapping has": {
			"gitea/team", team(), []goldenmapping.Exchange{{Operation: rest.Probe, Status: 200}}, "not an operation",
		},
		"a request though a rule is violated": {
			"rabbitmq/queue", queue, []goldenmapping.Exchange{{Operation: rest.Read, Status: 404}}, "a rule is violated",
		},
		"a poll when nothing was accepted": {"lxd/instance", instance(), []goldenmapping.Exchange{{Operation: rest.Poll, Status: 200}}, "nothing is under way"},
		"another request while the server is at work": {
			"lxd/instance", instance(), []goldenmapping.Exchange{accepted, {Operation: rest.Read, Status: 404}}, "still at work",
		},
		"a delete that depends on an object which was not read": {
			"lxd/instance", instance(), []goldenmapping.Exchange{{Operation: rest.Delete, Status: 200}}, "read it first",
		},
		"an object of another kind": {"rabbitmq/queue", team(), nil, "no apiVersion or kind"},
		"an object that the CRD refuses": {
			"gitea/team", object("Team", "gitea.example.com", map[string]any{"organization": "a b"}), nil, "refuses",
		},
		"an object without what it must have": {
			"rabbitmq/user", object("User", "rabbitmq.example.com", map[string]any{}), nil, "passwordSecretRef",
		},
		"an object that breaks a rule of the CRD": {
			"gitea/team", object("Team", "gitea.example.com", map[string]any{"organization": "a"}), nil, "admin: true, or units",
		},
		"an object with a field that the CRD does not have": {
			"gitea/team", object("Team", "gitea.example.com", map[string]any{"organization": "a", "admin": true, "colour": "red"}), nil, "colour",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &goldenmapping.Case{Object: tc.object, Script: goldenmapping.Script{Exchanges: tc.exchanges}}
			_, err := goldenmapping.Play(t.Context(), load(t, tc.kind), c, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestPlayCarriesWhatItLearnsToTheNextRequest(t *testing.T) {
	t.Parallel()
	created := map[string]any{
		"id": int64(7), "name": "orders", "units": []any{"repo.code"}, "units_map": map[string]any{"repo.code": "read"}, "permission": "none",
	}
	c := &goldenmapping.Case{Title: "a team", Object: team(), Script: goldenmapping.Script{Exchanges: []goldenmapping.Exchange{
		{Operation: rest.List, Status: 200, Body: []any{}},
		{Operation: rest.Create, Status: 201, Body: created},
		{Operation: rest.Delete, Status: 204},
		{Operation: rest.Read, Status: 404},
	}}}
	var targets []string
	check := func(req rest.Request, _ goldenmapping.Exchange) error {
		targets = append(targets, req.Method+" "+goldenmapping.Target(req))
		return nil
	}
	result, err := goldenmapping.Play(t.Context(), load(t, "gitea/team"), c, check)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"GET /orgs/team-a/teams?page=1&limit=50", "POST /orgs/team-a/teams", "DELETE /teams/7", "GET /teams/7"}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"org": "team-a", "id": "7"}, result.Identifiers); diff != "" {
		t.Errorf("identifiers (-want +got):\n%s", diff)
	}
	last := result.Steps[len(result.Steps)-1]
	if last.Outcome != lifecycle.Absent || last.Declared {
		t.Errorf("want the last answer to mean Absent by default, got %+v", last)
	}
}

func TestPlayReportsWhatACheckSays(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	c := &goldenmapping.Case{Object: user(), Script: goldenmapping.Script{Exchanges: []goldenmapping.Exchange{{Operation: rest.Read, Status: 404}}}}
	_, err := goldenmapping.Play(t.Context(), load(t, "rabbitmq/user"), c, func(rest.Request, goldenmapping.Exchange) error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("want the error of the check, got %v", err)
	}
}

func TestPlayHidesSecretsByName(t *testing.T) {
	t.Parallel()
	c := &goldenmapping.Case{Object: user(), Script: goldenmapping.Script{Exchanges: []goldenmapping.Exchange{{Operation: rest.Create, Status: 201}}}}
	result, err := goldenmapping.Play(t.Context(), load(t, "rabbitmq/user"), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	transcript, err := result.Log()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(transcript), `"password": "[secret:password]"`) || strings.Contains(string(transcript), "canary") {
		t.Errorf("want the password by its name alone, got\n%s", transcript)
	}
	if diff := cmp.Diff([]string{"password"}, result.SecretNames()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if !result.Sends("password") || result.Sends("other") {
		t.Error("want the password to be sent, and nothing else")
	}
}

func TestAServerThatRepeatsASecretDoesNotLeakItIntoTheStatus(t *testing.T) {
	t.Parallel()
	kind := load(t, "rabbitmq/user")
	const value = "canary-password-7f3b91" // what the runner gives for the secret "password"
	c := &goldenmapping.Case{Object: user(), Script: goldenmapping.Script{Exchanges: []goldenmapping.Exchange{
		{Operation: rest.Read, Status: 200, Body: map[string]any{"tags": []any{}, "hashing_algorithm": value}},
	}}}
	result, err := goldenmapping.Play(t.Context(), kind, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	leak := (*goldenmapping.LeakError)(nil)
	if _, err := result.YAML(); !errors.As(err, &leak) {
		t.Errorf("want a LeakError, got %v", err)
	}
}

func TestASecretInAPathIsALeak(t *testing.T) {
	t.Parallel()
	kind := load(t, "rabbitmq/user")
	spoiled := user()
	spoiled["metadata"] = map[string]any{"name": "canary-password-7f3b91", "namespace": "team-a", "uid": "0b5d"}
	c := &goldenmapping.Case{Object: spoiled, Script: goldenmapping.Script{Exchanges: []goldenmapping.Exchange{{Operation: rest.Read, Status: 404}}}}
	result, err := goldenmapping.Play(t.Context(), kind, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	leak := (*goldenmapping.LeakError)(nil)
	if _, err := result.Log(); !errors.As(err, &leak) {
		t.Errorf("want a LeakError, got %v", err)
	}
}
