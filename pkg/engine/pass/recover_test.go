package pass_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// lostAnswers are the ways in which a create is done, or not done, and its answer is lost.
func lostAnswers() map[string]restfake.Fault {
	return map[string]restfake.Fault{
		"done, and the connection broke":         restfake.CommitThenDrop(),
		"done, and the answer was cut off":       restfake.CommitThenTruncate(),
		"done, and a gateway answered 502":       restfake.CommitThenReply(502, "text/html", "<html>bad gateway</html>"),
		"done, and the server answered 500":      restfake.CommitThenReply(500, "application/json", `{"message":"out of disk"}`),
		"done, and the answer has no id":         restfake.CommitThenReply(201, "application/json", `{}`),
		"done, and the answer is no JSON":        restfake.CommitThenReply(201, "application/json", `{"id":`),
		"not done, and the connection broke":     restfake.Drop(),
		"not done, and the server answered 500":  restfake.Reply(500, "application/json", `{"message":"out of disk"}`),
		"not done, and the request was too slow": restfake.Reply(408, "application/json", `{}`),
	}
}

// Whatever became of the create and of the process after it, in the end there is one object.
func TestALostAnswerNeverDoublesAnObject(t *testing.T) {
	t.Parallel()
	for name, fault := range lostAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, restart := range []bool{false, true} {
				eachClass(t, func(b *bench, c class) {
					if c.mapping == noneMapping {
						return // a person must answer; see below
					}
					b.create("one", "{size: 3}")
					method, _, _ := strings.Cut(c.creates[len(c.creates)-3], " ")
					if strings.HasPrefix(method, "swap") {
						method = http.MethodPost
					}
					b.server.fault(method, fault)
					b.look("one")
					if restart {
						b.restart()
					}
					b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
					b.wantLive(1)
					b.delete("one")
					b.follow("one", b.gone("one"))
					b.wantLive(0)
				})
			}
		})
	}
}

// A create with a marker that may still take effect is neither looked for nor sent again before its time is over.
func TestAMarkedCreateIsGivenItsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, markedThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	result := b.look("one")
	b.happened("GET /things", "write record=Creating +finalizer", "POST /things", "status Unknown WaitingForSettle")
	if result.After != settleTime {
		b.Errorf("the next look is %v, want after the settle time", result)
	}
	b.advance(settleTime - time.Second)
	b.look("one")
	b.nothingSent()
	b.restart()
	b.look("one")
	b.nothingSent()
	b.advance(settleTime - time.Second)
	b.look("one")
	b.happened()
	b.advance(time.Second)
	b.look("one")
	b.happened("GET /things", "GET /things/1", "swap record=Created", "status True Available")
	b.wantLive(1)
}

// A request to a slow endpoint may be under way for longer than any default.
func TestASlowEndpointIsGivenItsOwnTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, markedThings())
	b.server.timeout = 5 * time.Minute
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	if result := b.look("one"); result.After != 5*time.Minute+30*time.Second {
		b.Errorf("the next look is %v", result)
	}
	for range 2 {
		b.restart()
		b.look("one")
		b.advance(5*time.Minute + 29*time.Second)
		b.journal.take()
		b.look("one")
		b.nothingSent()
	}
	b.advance(time.Second)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.wantLive(1)
}

func TestAMarkedCreateThatWasNeverDoneIsForgottenThenSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, markedThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.Drop())
	b.look("one")
	b.journal.take()
	b.advance(settleTime)
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	lines := strings.Join(b.journal.take(), "\n")
	if !strings.Contains(lines, "swap record=None") || strings.Index(lines, "swap record=None") > strings.Index(lines, "POST /things") {
		b.Errorf("the intent was not forgotten before the next create:\n%s", lines)
	}
	b.wantLive(1)
}

// With nothing to find the object by, only a person can say what became of it.
func TestACreateOfClassNoneWithoutAnAnswerWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, fault := range lostAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, noneMapping, plainThings())
			b.create("one", "{size: 3}")
			b.server.fault(http.MethodPost, fault)
			b.look("one")
			b.wantConditions("one", "Ready False CreateOutcomeUnknown", "Synced False CreateOutcomeUnknown", "Stalled True CreateOutcomeUnknown")
			attempt := b.record("one").Attempt
			b.wantMessage("one", v1alpha1.ConditionStalled, v1alpha1.ResolveAnnotation+"=absent@"+attempt, "adopt=<id>@"+attempt, "2026-05-01T12:01:00Z")
			said := b.status("one")["lastError"]
			b.journal.take()
			b.advance(time.Hour)
			b.look("one")
			b.nothingSent()
			for range 3 {
				b.advance(time.Hour)
				b.look("one")
			}
			b.restart()
			b.look("one")
			b.happened()
			if diff := cmp.Diff(said, b.status("one")["lastError"]); diff != "" || said == nil {
				b.Errorf("what the server said is lost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPersonsAnswerIsTakenForItsAttemptOnly(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer func(attempt, id string) string
		want   string
		live   int
	}{
		"it is not there":             {func(attempt, _ string) string { return "absent@" + attempt }, "True Available", 2},
		"it is there":                 {func(attempt, id string) string { return "adopt=" + id + "@" + attempt }, "True Available", 1},
		"it is another attempt's":     {func(string, string) string { return "absent@0000" }, "False CreateOutcomeUnknown", 1},
		"it names no attempt":         {func(string, string) string { return "absent" }, "False CreateOutcomeUnknown", 1},
		"it names no object":          {func(attempt, _ string) string { return "adopt=@" + attempt }, "False CreateOutcomeUnknown", 1},
		"it is not understood":        {func(attempt, _ string) string { return "yes@" + attempt }, "False CreateOutcomeUnknown", 1},
		"it names what is not there":  {func(attempt, _ string) string { return "adopt=77@" + attempt }, "False CreateOutcomeUnknown", 1},
		"it names an attempt at most": {func(attempt, _ string) string { return "@" + attempt }, "False CreateOutcomeUnknown", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, noneMapping, plainThings())
			b.create("one", "{size: 3}")
			b.server.fault(http.MethodPost, restfake.CommitThenDrop())
			b.look("one")
			b.advance(settleTime)
			b.annotate("one", v1alpha1.ResolveAnnotation, tc.answer(b.record("one").Attempt, b.server.Live("/things")[0].ID))
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
			b.wantLive(tc.live) // answering that it is absent when it is there is the person's own doing
			_, left := b.obj("one").GetAnnotations()[v1alpha1.ResolveAnnotation]
			if taken := tc.want == "True Available"; left == taken {
				b.Errorf("the answer stands: %t", left)
			}
		})
	}
}

// keepIdentity is the one write that must not be lost: it is tried until it works.
func TestTheIdentityIsKeptThroughErrorsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	cases := map[string]error{
		"it does not answer":   errAPIServer,
		"it is overloaded":     apierrors.NewTooManyRequests("slow down", 1),
		"it failed":            apierrors.NewInternalError(errAPIServer),
		"a write was too slow": apierrors.NewServerTimeout(things, "patch", 1),
		"the rights are gone":  apierrors.NewForbidden(things, "one", errAPIServer),
		"somebody else wrote":  apierrors.NewConflict(things, "one", errAPIServer),
	}
	for name, failure := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, markerMapping, markedThings())
			b.create("one", "{size: 3}")
			b.failOnce("swap", failure)
			b.look("one")
			b.happened("GET /things", "write record=Creating +finalizer", "POST /things", "swap record=Created failed", "swap record=Created", "GET /things/1", "status True Available")
			b.wantLive(1)
		})
	}
}

// The custom resource went, or its record was taken away, while the create was under way: exactly the object just made
// is taken back.
func TestAnObjectThatNobodyWillRememberIsTakenBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		meanwhile func(b *bench)
		swap      string
		gone      bool
	}{
		"the custom resource is gone": {func(b *bench) { delete(b.store.objects, named("one")) }, "swap record=Created NotFound", true},
		"the record was stripped": {func(b *bench) {
			b.annotate("one", v1alpha1.RecordAnnotation, "")
		}, "swap record=Created Invalid", false},
		"the record was written by another process": {func(b *bench) {
			b.annotate("one", v1alpha1.RecordAnnotation, strings.ReplaceAll(b.obj("one").GetAnnotations()[v1alpha1.RecordAnnotation], "Creating", "None"))
		}, "swap record=Created Invalid", false},
		"a namesake stands in its place": {func(b *bench) {
			b.edit("one", func(obj *unstructured.Unstructured) { obj.SetUID("uid-of-the-namesake") })
		}, "swap record=Created Invalid", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, markerMapping, markedThings())
			if _, err := b.server.Insert("/things", map[string]any{"owner": "somebody else"}); err != nil {
				b.Fatal(err)
			}
			b.create("one", "{size: 3}")
			b.server.before = func(line string) {
				if strings.HasPrefix(line, "POST") {
					tc.meanwhile(b)
				}
			}
			result := b.look("one")
			b.happened("GET /things", "write record=Creating +finalizer", "POST /things", tc.swap, "DELETE /things/2")
			b.wantEvents("Normal Created: created outside: POST /things",
				"Warning Compensating: the record of a create could not be kept; the object just made is removed again")
			b.wantLive(1)
			if tc.gone && result.Err != nil {
				b.Errorf("what is gone is tried again: %v", result)
			}
		})
	}
}

// Nothing is taken back when the API has no delete: the failure is told.
func TestWithoutADeleteNothingIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.ReplaceAll(markerMapping, "    delete: {path: \"/things/{id}\"}\n", ""), markedThings())
	b.create("one", "{size: 3}")
	b.failOnce("swap", apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", things, "one", "test failed", 0, true))
	result := b.look("one")
	b.happened("GET /things", "write record=Creating +finalizer", "POST /things", "swap record=Created failed")
	if result.Err == nil {
		b.Errorf("the next look is %v, want backoff", result)
	}
}

// A write-only delete of a create that may still take effect would leave the object behind.
func TestADeletionWaitsForACreateWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.create("one", "{size: 3}")
		method := http.MethodPost
		if c.mapping == upsertMapping {
			method = http.MethodPut
		}
		// The server takes the request, and does what was asked much later.
		late := restfake.Drop()
		b.server.fault(method, late)
		b.look("one")
		b.delete("one")
		b.restart()
		b.look("one")
		b.look("one")
		if b.gone("one")() {
			b.Fatalf("let go while the create may still take effect: %q", b.journal.take())
		}
		if c.mapping == noneMapping {
			b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
			return
		}
		if c.mapping == idempotentMapping {
			return // it learns by the key what was made, and would know a late one by it too
		}
		// Now it takes effect.
		fields := map[string]any{"id": "one", "name": "one", "owner": "uid-one", "size": 3}
		if c.collection().IDs != restfake.Chosen {
			delete(fields, "id")
		}
		if _, err := b.server.Insert("/things", fields); err != nil {
			b.Fatal(err)
		}
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

// After a restart a PUT of the earlier process may still be under way, and would make the object again.
func TestAnUpsertIsLetGoOnlyWhenAnEarlierProcessCanSendNoMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.restart()
	b.delete("one")
	b.look("one")
	b.happened("DELETE /things/one", "GET /things/one", "status Unknown WaitingForAbsence")
	if b.gone("one")() {
		b.Fatal("let go too early")
	}
	b.advance(settleTime - 2*time.Second)
	b.look("one")
	if b.gone("one")() {
		b.Fatal("let go too early")
	}
	// The PUT of the earlier process takes effect just before its time is over.
	if _, err := b.server.Insert("/things", map[string]any{"id": "one", "size": 3}); err != nil {
		b.Fatal(err)
	}
	b.follow("one", b.gone("one"))
	b.wantLive(0)
}

// An update whose answer was lost makes the object again when it is a PUT that takes effect late.
func TestADeletionWaitsForAnUpdateWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.setSpec("one", "size", int64(4))
	b.server.fault(http.MethodPut, restfake.Drop())
	b.look("one")
	b.delete("one")
	for range 3 {
		b.look("one")
		b.advance(9 * time.Second)
	}
	if b.gone("one")() {
		b.Fatal("let go while the update may still take effect")
	}
	if _, err := b.server.Insert("/things", map[string]any{"id": "one", "size": 4}); err != nil {
		b.Fatal(err)
	}
	b.follow("one", b.gone("one"))
	b.wantLive(0)
}

// A process that was frozen between its intent and its create must not make a second object when it wakes up.
func TestACreateIsNotSentLongAfterItsIntent(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, markedThings())
	b.create("one", "{size: 3}")
	b.store.after = func(line string) {
		if strings.HasPrefix(line, "write record=Creating") {
			b.advance(requestTime + time.Second)
		}
	}
	b.look("one")
	b.wantLive(0)
	if sent := b.server.Count(http.MethodPost, ""); sent != 0 {
		b.Errorf("%d creates arrived", sent)
	}
	b.store.after = func(string) {}
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.wantLive(1)
}

// A create that was refused leaves nothing to remember, and the record says so.
func TestARefusedCreateIsForgotten(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.create("one", "{size: 3}")
		method := http.MethodPost
		if c.mapping == upsertMapping {
			method = http.MethodPut
		}
		b.server.fault(method, restfake.Reply(422, "application/json", `{"message":"size must be odd"}`))
		b.look("one")
		b.wantConditions("one", "Ready False RequestRejected", "Synced False RequestRejected", "Stalled True RequestRejected")
		b.wantMessage("one", v1alpha1.ConditionReady, "422 Unprocessable Entity", "size must be odd")
		if got := b.record("one").Phase; got != "None" {
			b.Errorf("the record says %s", got)
		}
		b.delete("one")
		b.advance(settleTime)
		b.look("one")
		if !b.gone("one")() {
			b.Errorf("not let go: %q", b.journal.take())
		}
	})
}

// A key that is taken is somebody else's object unless it is as specified, or may be adopted.
func TestAKeyThatIsTaken(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policy, want string
		outside      map[string]any
	}{
		"by another object":            {"", "False NotAdoptable", map[string]any{"id": "one", "size": 5}},
		"by an object that is adopted": {"\n  policy: {adoption: ByIdentity}\n", "True Available", map[string]any{"id": "one", "size": 5}},
		"by one exactly as specified":  {"", "True Available", map[string]any{"id": "one", "size": 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, uniqueMapping+tc.policy, uniqueThings())
			b.create("one", "{size: 3}")
			b.server.before = func(line string) {
				if line == "POST /things" {
					if _, err := b.server.Insert("/things", tc.outside); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.look("one")
			if tc.want == "True Available" {
				b.follow("one", b.is("one", v1alpha1.ConditionReady, tc.want))
			}
			b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
			b.wantLive(1)
		})
	}
}
