package pass_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/engine/pass"
)

const secretMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  secrets: [{name: password, refExpression: self.spec.passwordRef}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {from: spec.size, to: size}
  - {value: secrets.password, to: password, writeOnly: true}
`

func secretThings() restfake.Collection {
	c := upsertThings()
	c.WriteOnly = []string{"password"}
	return c
}

const withPassword = "{size: 3, passwordRef: {name: login, key: word}}"

func newSecretBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, secretMapping, secretThings())
	b.vault.set("team/login/word", "hunter2")
	return b
}

// A value that cannot be read back is sent when it changes, and only then.
func TestAWriteOnlyValueIsSentOnceForEachChange(t *testing.T) {
	t.Parallel()
	b := newSecretBench(t)
	b.settled("one", withPassword)
	b.advance(time.Hour)
	b.look("one")
	b.happened("GET /things/one")
	b.vault.set("team/login/word", "correct horse")
	b.look("one")
	b.happened("GET /things/one", "PUT /things/one", "GET /things/one", "swap record=Created")
	b.wantEvents("Normal Updated: updated outside: write-only values")
	if got, _ := b.server.Get("/things/one"); got.Fields["password"] != "correct horse" {
		b.Errorf("the password outside is %v", got.Fields["password"])
	}
	for range 3 {
		b.advance(time.Hour)
		b.look("one")
		b.happened("GET /things/one")
	}
	if drift := b.status("one")["drift"]; drift != nil {
		b.Errorf("a change of the Secret is called drift: %v", drift)
	}
}

func TestAWriteOnlyValueThatWasNotAcceptedIsSentAgain(t *testing.T) {
	t.Parallel()
	b := newSecretBench(t)
	b.settled("one", withPassword)
	b.advance(time.Hour)
	b.vault.set("team/login/word", "correct horse")
	b.server.fault(http.MethodPut, restfake.Reply(422, "application/json", "{}"))
	b.look("one")
	b.advance(time.Hour)
	b.look("one")
	if got, _ := b.server.Get("/things/one"); got.Fields["password"] != "correct horse" {
		b.Errorf("the password outside is %v", got.Fields["password"])
	}
}

// Servers repeat what they were sent. Neither secret may be shown anywhere.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	said := fmt.Sprintf(`{"message":"hunter2 is too short; got hunter2 with %s"}`, credential)
	faults := map[string]struct {
		method string
		fault  restfake.Fault
	}{
		"refusing a create":      {http.MethodPut, restfake.Reply(422, "application/json", said)},
		"failing on a create":    {http.MethodPut, restfake.Reply(500, "application/json", said)},
		"throttling a create":    {http.MethodPut, restfake.Reply(429, "application/json", said)},
		"refusing a read":        {http.MethodGet, restfake.Reply(401, "application/json", said)},
		"failing on a read":      {http.MethodGet, restfake.Reply(500, "text/plain", "no such hunter2 for "+credential)},
		"redirecting":            {http.MethodGet, restfake.RedirectTo(302, "http://elsewhere.example/hunter2/"+credential)},
		"refusing with a header": {http.MethodPut, restfake.RedirectTo(307, "/hunter2")},
	}
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSecretBench(t)
			b.create("one", withPassword)
			b.server.AddRule(restfake.Rule{Method: tc.method, Fault: tc.fault})
			result := b.look("one")
			shown := fmt.Sprint(b.obj("one").Object, b.events.take(), result.Err, b.observed)
			for _, secret := range []string{"hunter2", credential} {
				if strings.Contains(shown, secret) {
					b.Errorf("%q is shown: %s", secret, shown)
				}
			}
			if name != "refusing with a header" && !strings.Contains(shown, "[redacted]") {
				b.Errorf("nothing was redacted, so the server's words are missing: %s", shown)
			}
		})
	}
}

func TestASecretOfTwoLettersIsNotTakenOutOfWords(t *testing.T) {
	t.Parallel()
	b := newSecretBench(t)
	b.vault.set("team/login/word", "an")
	b.create("one", withPassword)
	b.server.fault(http.MethodPut, restfake.Reply(422, "application/json", `{"message":"cannot be changed"}`))
	b.look("one")
	b.wantMessage("one", v1alpha1.ConditionReady, "cannot be changed")
}

// unavailable is the error for something that is missing.
func unavailable(reason string, stalled bool) error {
	return &pass.UnavailableError{Reason: reason, Stalled: stalled, Err: errors.New("RestEndpoint main: it is not there")}
}

func TestWhatIsMissingIsToldAndWaitedFor(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil      func(b *bench)
		want       []string
		backoff    bool
		deletesToo bool
	}{
		"an endpoint that may be made": {
			func(b *bench) { b.server.unavailable = unavailable(v1alpha1.ReasonEndpointNotFound, false) },
			[]string{"Ready Unknown EndpointNotFound", "Synced Unknown EndpointNotFound", "Reconciling True ProgressingWithRetry"},
			true, false,
		},
		"an endpoint that is not allowed": {
			func(b *bench) { b.server.unavailable = unavailable(v1alpha1.ReasonEndpointNotAllowed, true) },
			[]string{"Ready False EndpointNotAllowed", "Synced False EndpointNotAllowed", "Stalled True EndpointNotAllowed"},
			false, false,
		},
		"an endpoint for a reason that nobody gave": {
			func(b *bench) { b.server.unavailable = errors.New("cache is starting") },
			[]string{"Ready Unknown EndpointNotReady", "Synced Unknown EndpointNotReady", "Reconciling True ProgressingWithRetry"},
			true, false,
		},
		"a Secret": {
			func(b *bench) { b.vault.values = map[string]string{} },
			[]string{"Ready Unknown SecretNotFound", "Synced Unknown SecretNotFound", "Reconciling True ProgressingWithRetry"},
			true, true,
		},
		"the right to read a Secret": {
			func(b *bench) { b.vault.fail = unavailable(v1alpha1.ReasonSecretNotAllowed, true) },
			[]string{"Ready False SecretNotAllowed", "Synced False SecretNotAllowed", "Stalled True SecretNotAllowed"},
			false, true,
		},
		"a Secret for a reason that nobody gave": {
			func(b *bench) { b.vault.fail = errAPIServer },
			[]string{"Ready Unknown SecretNotFound", "Synced Unknown SecretNotFound", "Reconciling True ProgressingWithRetry"},
			true, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSecretBench(t)
			tc.spoil(b)
			b.create("one", withPassword)
			result := b.look("one")
			b.wantConditions("one", tc.want...)
			b.nothingSent()
			if (result.Err != nil) != tc.backoff {
				b.Errorf("the next look is %v", result)
			}
			b.server.unavailable, b.vault.fail = nil, nil
			b.vault.set("team/login/word", "hunter2")
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
			b.advance(time.Hour)
			tc.spoil(b)
			b.delete("one")
			b.look("one")
			if b.gone("one")() != tc.deletesToo {
				b.Errorf("let go: %t; a deletion needs the endpoint and no Secret", !tc.deletesToo)
			}
		})
	}
}

func TestTheEndpointIsLookedForWhereTheMappingSays(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ endpoint, want string }{
		"a fixed one":       {"{kind: RestEndpoint, name: fixed}", "RestEndpoint team/fixed"},
		"one of the object": {"{kind: ClusterRestEndpoint, nameExpression: self.spec.server}", "ClusterRestEndpoint team/eu"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "\n  endpoint: "+tc.endpoint+upsertMapping, upsertThings())
			b.settled("one", "{size: 3, server: eu}")
			if b.server.asked != tc.want {
				b.Errorf("asked for %s, want %s", b.server.asked, tc.want)
			}
		})
	}
}

func TestRulesHoldBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	rules := `
  rules:
  - {expression: "self.spec.size < 10", message: size must be below 10, reason: TooLarge}
  - {expression: "self.spec.color != 'grey'", message: grey is no color}
`
	b := newBench(t, upsertMapping+strings.TrimPrefix(rules, "\n"), upsertThings())
	b.create("one", "{size: 30, color: grey}")
	result := b.look("one")
	b.happened("status False TooLarge")
	b.wantMessage("one", v1alpha1.ConditionStalled, "size must be below 10", "grey is no color")
	if result.Err != nil || result.After != 10*time.Minute {
		b.Errorf("the next look is %v", result)
	}
	b.wantEvents("Warning TooLarge: size must be below 10; grey is no color")
	b.look("one")
	b.happened()
	b.wantEvents()
	b.setSpec("one", "size", int64(3))
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionStalled, "True RuleViolated")
	b.setSpec("one", "color", "red")
	b.look("one")
	b.wantConditions("one", "Ready True Available", "Synced True InSync")
	b.wantEvents("Warning RuleViolated: grey is no color", "Normal Created: created outside: PUT /things/{id}", "Normal Recovered: no longer stalled")
	b.setSpec("one", "size", int64(50))
	b.advance(time.Hour)
	b.delete("one")
	b.look("one")
	if !b.gone("one")() {
		b.Error("a rule holds a deletion back")
	}
}

func TestAnExpressionThatFailsIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ mapping, spec, place string }{
		"in an identifier": {strings.ReplaceAll(upsertMapping, "value: self.metadata.name", "value: self.spec.name"), "{size: 3}", "spec.identifiers"},
		"in the endpoint":  {"\n  endpoint: {kind: RestEndpoint, nameExpression: self.spec.server}" + upsertMapping, "{size: 3}", "spec.endpoint"},
		"in a rule":        {upsertMapping + "  rules: [{expression: self.spec.color == 'red', message: m}]\n", "{size: 3}", "spec.rules"},
		"in a secret":      {secretMapping, "{size: 3}", "spec.secrets"},
		"in a field":       {strings.ReplaceAll(upsertMapping, "{from: spec.color, to: color}", "{value: self.spec.color, to: color}"), "{size: 3}", "spec.fields"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.mapping, upsertThings())
			b.create("one", tc.spec)
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionStalled, "True ExpressionFailed")
			b.wantMessage("one", v1alpha1.ConditionReady, tc.place)
			b.nothingSent()
		})
	}
}

// A CRD whose status has no default would read as done before the first look.
func TestTheFirstStatusComesFirstWhereTheCRDHasNoDefault(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.edit("one", func(obj *unstructured.Unstructured) { delete(obj.Object, "status") })
	b.server.before = func(string) {
		b.server.before = func(string) {}
		b.wantConditions("one", "Ready Unknown Progressing", "Synced Unknown Progressing", "Reconciling True Progressing")
	}
	b.look("one")
	b.happened("status Unknown Progressing", "GET /things/one", "write record=Created +finalizer", "PUT /things/one", "GET /things/one", "status True Available")
	b.edit("one", func(obj *unstructured.Unstructured) { delete(obj.Object, "status") })
	b.advance(time.Hour)
	b.delete("one")
	b.look("one")
	b.happened("DELETE /things/one", "GET /things/one", "write -finalizer")
}

func TestAGreetingThatIsNotWrittenStopsThePass(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.edit("one", func(obj *unstructured.Unstructured) { delete(obj.Object, "status") })
	b.failOnce("status", errAPIServer)
	if result := b.look("one"); !errors.Is(result.Err, errAPIServer) {
		b.Errorf("the next look is %v", result)
	}
	b.happened("status Unknown Progressing failed")
}

func TestDriftIsPutBackAndTold(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		if err := b.server.Change(path(c), func(f map[string]any) { f["size"] = 8 }); err != nil {
			b.Fatal(err)
		}
		b.look("one")
		b.happened(c.steady[0], c.update, c.steady[0], "status True Available")
		b.wantEvents("Normal DriftCorrected: put back what was changed outside: size (found 8, wanted 3)")
		if diff := cmp.Diff([]any{"size"}, b.status("one")["drift"]); diff != "" {
			b.Errorf("drift (-want +got):\n%s", diff)
		}
		if !b.observed[len(b.observed)-1].Drifted {
			b.Error("the summary does not tell")
		}
		b.advance(time.Hour)
		b.look("one")
		b.happened(c.steady...) // what drifted last stays to be seen
		b.setSpec("one", "size", int64(9))
		b.look("one")
		if drift := b.status("one")["drift"]; drift != nil {
			b.Errorf("a new generation keeps the drift of the former: %v", drift)
		}
	})
}

func TestDriftIsOnlyReportedWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+"  policy: {drift: Report}\n", upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	if err := b.server.Change("/things/one", func(f map[string]any) { f["size"] = 8 }); err != nil {
		b.Fatal(err)
	}
	b.look("one")
	b.happened("GET /things/one", "status True Available")
	b.wantConditions("one", "Ready True Available", "Synced False DriftReported")
	b.wantMessage("one", v1alpha1.ConditionSynced, "size")
	b.look("one")
	b.happened("GET /things/one")
}

func TestAFieldThatOnlyCreatesSendCannotChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.ReplaceAll(upsertMapping, "{from: spec.color, to: color}", "{from: spec.color, to: color, operations: [Create]}"), upsertThings())
	b.settled("one", "{size: 3, color: red}")
	b.advance(time.Hour)
	b.setSpec("one", "color", "blue")
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionStalled, "True ImmutableFieldChanged")
	b.wantMessage("one", v1alpha1.ConditionReady, "color")
}

func TestSuspendingStopsEverythingButDeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.annotate("one", v1alpha1.SuspendAnnotation, "true")
	b.server.unavailable = errors.New("not needed")
	result := b.look("one")
	b.happened("status True Suspended")
	if result.Err != nil || result.After != 0 {
		b.Errorf("a suspended custom resource is looked at again: %v", result)
	}
	b.look("one")
	b.happened()
	if diff := cmp.Diff(map[string]any{"id": "one"}, b.status("one")["identifiers"]); diff != "" {
		b.Errorf("identifiers (-want +got):\n%s", diff)
	}
	b.server.unavailable = nil
	b.annotate("one", v1alpha1.SuspendAnnotation, "false")
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.annotate("one", v1alpha1.SuspendAnnotation, "true")
	b.advance(time.Hour)
	b.delete("one")
	b.look("one")
	if !b.gone("one")() {
		b.Error("a suspended custom resource is not let go")
	}
	b.wantLive(0)
}

// TestAChangeThatIsSuspendedDoesNotReadAsApplied: whoever waits for the new generation to be ready must go on waiting.
func TestAChangeThatIsSuspendedDoesNotReadAsApplied(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.annotate("one", v1alpha1.SuspendAnnotation, "true")
	b.setSpec("one", "size", int64(4))
	for range 2 {
		b.look("one")
		b.wantCondition("one", v1alpha1.ConditionReady, "Unknown Suspended")
		if got := b.status("one")["observedGeneration"]; got != int64(1) {
			b.Errorf("observedGeneration is %v, want that of the specification that was applied", got)
		}
	}
	b.annotate("one", v1alpha1.SuspendAnnotation, "")
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
}

func TestASuspendedCustomResourceThatNeverWas(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.annotate("one", v1alpha1.SuspendAnnotation, "true")
	b.look("one")
	b.happened("status Unknown Suspended")
	b.wantMessage("one", v1alpha1.ConditionReady, v1alpha1.SuspendAnnotation)
}

func TestAReconcileRequestIsAnswered(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.annotate("one", v1alpha1.ReconcileAnnotation, "2026-05-01")
	b.look("one")
	b.happened("GET /things/one", "status True Available")
	if got := b.status("one")["lastHandledReconcileAt"]; got != "2026-05-01" {
		b.Errorf("handled is %v", got)
	}
	b.look("one")
	b.happened("GET /things/one")
}

func TestProjectionsComeAndGoWithTheirValues(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.ReplaceAll(upsertMapping, "value: observed.size", "value: \"observed.?shown\""), upsertThings())
	b.settled("one", "{size: 3}")
	if got := b.status("one")["size"]; got != nil {
		b.Errorf("size is %v", got)
	}
	for _, value := range []any{7, nil} {
		if err := b.server.Change("/things/one", func(f map[string]any) { f["shown"] = value }); err != nil {
			b.Fatal(err)
		}
		b.look("one")
		if got := b.status("one")["size"]; fmt.Sprint(got) != fmt.Sprint(value) {
			b.Errorf("size is %v, want %v", got, value)
		}
	}
}

func TestObservingOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+"  policy: {management: ObserveOnly}\n", upsertThings())
	b.create("one", "{size: 3}")
	b.look("one")
	b.happened("GET /things/one", "status False ExternalMissing")
	if _, err := b.server.Insert("/things", map[string]any{"id": "one", "size": 8}); err != nil {
		b.Fatal(err)
	}
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	if diff := cmp.Diff(map[string]any{"id": "one"}, b.status("one")["identifiers"]); diff != "" {
		b.Errorf("identifiers (-want +got):\n%s", diff)
	}
	b.nothingSent()
	if got := b.obj("one").GetFinalizers(); len(got) > 0 {
		b.Errorf("finalizers: %v", got)
	}
}
