package pass_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/rest"
)

func TestTheIntervalHasAJitterOfATenth(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		sync   string
		jitter float64
		want   time.Duration
	}{
		"the least":       {"10m", 0, 9 * time.Minute},
		"the middle":      {"10m", 0.5, 10 * time.Minute},
		"the most":        {"10m", 0.999999, 11 * time.Minute},
		"below the floor": {"1ms", 0.5, time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping+"\n  sync: {interval: "+tc.sync+", consistencyWindow: 10s, serverSlack: 20s}\n", upsertThings())
			b.jitter = tc.jitter
			b.create("one", "{size: 3}")
			if got := b.look("one"); got.Err != nil || got.After.Round(time.Second) != tc.want {
				b.Errorf("the next look is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWhatIsNotReadyYetIsLookedAtSooner(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+"  ready: {expression: observed.size > 3, message: it is still small}\n", upsertThings())
	b.create("one", "{size: 3}")
	if got := b.look("one"); got.Err != nil || got.After != 30*time.Second {
		b.Errorf("the next look is %v, want 30s", got)
	}
	b.wantConditions("one", "Ready False ExternalNotReady", "Synced True InSync")
	b.wantMessage("one", v1alpha1.ConditionReady, "it is still small")
	b.setSpec("one", "size", int64(4))
	b.advance(time.Minute)
	if got := b.look("one"); got.After != 10*time.Minute {
		b.Errorf("the next look is %v, want the interval", got)
	}
	b.wantConditions("one", "Ready True Available", "Synced True InSync")
}

func TestAReadyRuleThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+"  ready: {expression: observed.state == 'up'}\n", upsertThings())
	b.create("one", "{size: 3}")
	b.look("one")
	b.wantConditions("one", "Ready False ExpressionFailed", "Synced True InSync")
	b.wantMessage("one", v1alpha1.ConditionReady, "spec.ready")
}

// What a server asks for is honoured, within bounds.
func TestTheServersOwnWishIsHonoured(t *testing.T) {
	t.Parallel()
	const least = time.Millisecond // a wish of none is backoff, or a polite time
	cases := map[string]struct {
		method, wish string
		want         time.Duration
	}{
		"on a read":                  {http.MethodGet, "17", 17 * time.Second},
		"on a create":                {http.MethodPut, "17", 17 * time.Second},
		"longer than is reasonable":  {http.MethodGet, "86400", 15 * time.Minute},
		"on a create, far too long":  {http.MethodPut, "86400", 15 * time.Minute},
		"none, on a create":          {http.MethodPut, "", 5 * time.Second},
		"not understood on a create": {http.MethodPut, "soon", 5 * time.Second},
		"none, on a read":            {http.MethodGet, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping, upsertThings())
			b.create("one", "{size: 3}")
			b.server.fault(tc.method, restfake.Throttle(tc.wish))
			got := b.look("one")
			if got.After != tc.want || (got.Err != nil) != (tc.want < least) {
				b.Errorf("the next look is %v, want %v", got, tc.want)
			}
			b.wantCondition("one", v1alpha1.ConditionReady, "Unknown Throttled")
		})
	}
}

// A server is known to be slow before its objects are known to be wrong.
func TestALookOrTwoThatFailChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Fault: restfake.Reply(500, "application/json", `{"message":"database is down"}`)})
	for range 2 {
		b.advance(10 * time.Second)
		if result := b.look("one"); result.Err == nil {
			b.Errorf("the next look is %v, want backoff", result)
		}
		b.happened("GET /things/one")
	}
	b.look("one")
	b.wantConditions("one", "Ready True Available", "Synced Unknown ServerError", "Reconciling True ProgressingWithRetry")
	b.wantMessage("one", v1alpha1.ConditionSynced, "500 Internal Server Error", "database is down")
	want := map[string]any{"operation": "Read", "httpStatus": int64(500), "message": "GET /things/{id} answered 500 Internal Server Error: database is down"}
	if diff := cmp.Diff(want, b.status("one")["lastError"]); diff != "" {
		b.Errorf("lastError (-want +got):\n%s", diff)
	}
	b.advance(29 * time.Minute)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.advance(time.Minute)
	b.look("one")
	b.wantConditions("one", "Ready Unknown ServerError", "Synced Unknown ServerError", "Reconciling True ProgressingWithRetry")
	b.server.ClearRules()
	b.look("one")
	b.wantConditions("one", "Ready True Available", "Synced True InSync")
	if last := b.status("one")["lastError"]; last != nil {
		b.Errorf("lastError stays: %v", last)
	}
}

func TestALookThatWorksStartsTheCountAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	for range 5 {
		b.server.AddRule(restfake.Rule{Method: http.MethodGet, Times: 2, Fault: restfake.Reply(500, "text/plain", "no")})
		for range 3 {
			b.look("one")
			b.happened("GET /things/one")
		}
		b.server.ClearRules()
	}
}

// An endpoint that cannot be used is a look that fails, too.
func TestAnEndpointThatIsAwayForALookChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.server.unavailable = unavailable(v1alpha1.ReasonEndpointNotReady, false)
	b.look("one")
	b.look("one")
	b.happened()
	b.look("one")
	b.wantConditions("one", "Ready True Available", "Synced Unknown EndpointNotReady", "Reconciling True ProgressingWithRetry")
}

func TestANewGenerationThatCannotBeLookedAtIsNotReady(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.setSpec("one", "size", int64(4))
	b.server.fault(http.MethodGet, restfake.Reply(500, "text/plain", "no"))
	b.look("one")
	b.wantConditions("one", "Ready Unknown ServerError", "Synced Unknown ServerError", "Reconciling True ProgressingWithRetry")
	if got := b.status("one")["observedGeneration"]; got != int64(1) {
		b.Errorf("observedGeneration is %v although nothing was done", got)
	}
}

func TestAnAnswerThatHoldsNoObject(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		fault restfake.Fault
		says  string
	}{
		"null":          {restfake.Reply(200, "application/json", "null"), "GET /things/{id} answered 200"},
		"a web page":    {restfake.HTML(), "text/html"},
		"too long":      {restfake.Huge(8 << 20), "responseBytes"},
		"cut-off JSON":  {restfake.Reply(200, "application/json", `{"id":`), "JSON"},
		"a strange one": {restfake.Reply(418, "application/json", "{}"), "418"},
	}
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping, upsertThings())
			b.create("one", "{size: 3}")
			b.server.fault(http.MethodGet, tc.fault)
			b.look("one")
			b.nothingSent()
			b.wantCondition("one", v1alpha1.ConditionReady, "Unknown ObservationFailed")
			b.wantMessage("one", v1alpha1.ConditionReady, tc.says)
		})
	}
}

func TestSeveralThatMatchAreAPersonsBusiness(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, plainThings())
	for range 2 {
		if _, err := b.server.Insert("/things", map[string]any{"owner": "uid-one"}); err != nil {
			b.Fatal(err)
		}
	}
	b.create("one", "{size: 3}")
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionStalled, "True AmbiguousMatch")
}

func TestAnObjectThatWasThereBeforeUs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ policy, want string }{
		"is left alone":           {"", "False NotAdoptable"},
		"is adopted where we may": {"  policy: {adoption: ByIdentity}\n", "True Available"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping+tc.policy, upsertThings())
			if _, err := b.server.Insert("/things", map[string]any{"id": "one", "size": 8}); err != nil {
				b.Fatal(err)
			}
			b.create("one", "{size: 3}")
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
			b.delete("one")
			b.advance(time.Hour)
			b.follow("one", b.gone("one"))
			live := 1
			if tc.policy != "" {
				live = 0
			}
			b.wantLive(live)
		})
	}
}

func TestTwoCustomResourcesNeverManageOneObject(t *testing.T) {
	t.Parallel()
	byName := strings.ReplaceAll(upsertMapping, "value: self.metadata.name", "value: self.spec.name")
	b := newBench(t, byName+"  policy: {adoption: ByIdentity}\n", upsertThings())
	b.settled("one", "{size: 3, name: shared}")
	b.create("two", "{size: 4, name: shared}")
	b.look("two")
	b.happened("status False IdentityConflict")
	b.wantMessage("two", v1alpha1.ConditionStalled, "Thing team/one manages", "already")
	b.advance(time.Hour)
	b.look("one")
	b.happened("GET /things/shared")
	b.delete("one")
	b.look("one")
	b.look("one") // the cache says that it is gone
	b.look("two")
	b.wantCondition("two", v1alpha1.ConditionReady, "True Available")
}

// An identity that is only known after the create is claimed then.
func TestAnAssignedIdentityIsClaimedWhenItIsKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, keyedMapping, keyedThings())
	b.settled("one", "{size: 3}")
	another := newBench(t, strings.ReplaceAll(keyedMapping, "item.name == self.metadata.name", "item.name == 'one'")+"  policy: {adoption: ByIdentity}\n", keyedThings())
	another.server.Server, another.server.client, another.claims = b.server.Server, b.server.client, b.claims
	another.reconciler.Claims = b.claims
	another.create("two", "{size: 3}")
	another.look("two")
	another.wantCondition("two", v1alpha1.ConditionStalled, "True IdentityConflict")
	b.reconciler.Close()
	another.look("two")
	another.wantCondition("two", v1alpha1.ConditionStalled, "True ImmutableFieldChanged") // its own business, once it is free
}

func TestClaims(t *testing.T) {
	t.Parallel()
	c := pass.NewClaims()
	steps := []struct {
		identity, uid string
		holder        string
	}{
		{"a", "1", ""},
		{"a", "1", ""},
		{"a", "2", "name of 1"},
		{"b", "2", ""},
		{"b", "1", "name of 2"},
		{"a", "2", "name of 1"}, // a claim that is refused costs nothing
		{"c", "1", ""},
		{"a", "2", ""},
		{"b", "3", ""}, // a claim on another lets the former go
	}
	for i, step := range steps {
		holder, ok := c.Take(step.identity, uid(step.uid), "name of "+step.uid, false)
		if holder != step.holder || ok != (step.holder == "") {
			t.Errorf("step %d: holder %q, ok %t", i, holder, ok)
		}
	}
	c.Drop(uid("2"))
	c.Drop(uid("2"))
	if _, ok := c.Take("a", uid("4"), "", false); !ok {
		t.Error("what was dropped is held")
	}
}

func TestErrorsOfTheStatusWrite(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		failure error
		backoff bool
		after   time.Duration
	}{
		"a conflict":     {apierrors.NewConflict(things, "one", errAPIServer), false, 200 * time.Millisecond},
		"no answer":      {errAPIServer, true, 0},
		"it is gone now": {apierrors.NewNotFound(things, "one"), false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping, upsertThings())
			b.create("one", "{size: 3}")
			b.failOnce("status", tc.failure)
			got := b.look("one")
			if (got.Err != nil) != tc.backoff || got.After != tc.after {
				b.Errorf("the next look is %v", got)
			}
			b.advance(time.Minute)
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
			b.wantLive(1)
		})
	}
}

func TestTheMappingsOwnOutcomes(t *testing.T) {
	t.Parallel()
	outcomes := `  outcomes:
  - {operations: [Read], when: "response.status == 200 && response.body.?state.orValue('') == 'trashed'", outcome: Absent}
  - {operations: [Create], when: response.status == 403, outcome: Wait, message: the quota is used up}
`
	b := newBench(t, upsertMapping+outcomes, upsertThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPut, restfake.Reply(403, "application/json", "{}"))
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "Unknown WaitingForServer")
	b.wantMessage("one", v1alpha1.ConditionReady, "the quota is used up")
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.advance(time.Hour)
	if err := b.server.Change("/things/one", func(f map[string]any) { f["state"] = "trashed" }); err != nil {
		b.Fatal(err)
	}
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "Unknown WaitingForAbsence")
}

func TestAnotherProgramIsUsedFromTheNextPassOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3, color: red}")
	next := compile(t, strings.ReplaceAll(upsertMapping, "to: color", "to: colour"))
	b.reconciler.Serve(next)
	if b.reconciler.Program() != next {
		b.Error("the program is the former")
	}
	b.look("one")
	if got, _ := b.server.Get("/things/one"); got.Fields["colour"] != "red" {
		b.Errorf("outside it is %v", got.Fields)
	}
}

func TestALookAtWhatWasNeverThere(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	if got := b.look("one"); got.Err != nil || got.After != 0 {
		b.Errorf("the next look is %v", got)
	}
	if diff := cmp.Diff([]pass.Summary{{Key: named("one"), Gone: true}}, b.observed); diff != "" {
		b.Errorf("summaries (-want +got):\n%s", diff)
	}
}

func TestAPassSendsOneMutatingRequestAtMost(t *testing.T) {
	t.Parallel()
	for name, fault := range lostAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachClass(t, func(b *bench, _ class) {
				sent := 0
				b.server.instead = func(req rest.Request) *rest.Exchange {
					if req.Operation.Mutating() {
						sent++
					}
					return nil
				}
				b.server.AddRule(restfake.Rule{Method: http.MethodPost, Times: 2, Fault: fault})
				b.server.AddRule(restfake.Rule{Method: http.MethodPut, Times: 2, Fault: fault})
				b.create("one", "{size: 3}")
				for range 8 {
					sent = 0
					result := b.look("one")
					if sent > 1 {
						b.Errorf("one pass sent %d mutating requests", sent)
					}
					b.advance(max(result.After, time.Second))
				}
			})
		})
	}
}
