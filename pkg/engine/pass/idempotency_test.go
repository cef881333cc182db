package pass_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/rest"
)

const (
	// idempotentMapping is of things that nothing can be found by, at a server that knows a create again for an hour.
	idempotentMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: "/things", safety: IdempotencyKey, idempotency: {header: Idempotency-Key, window: 1h}}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields: [{from: spec.size, to: size}, {from: spec.color, to: color}]
`
	// keyAndMarkMapping is of things that carry the uid as well.
	keyAndMarkMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    list: {path: "/things", match: item.owner == self.metadata.uid}
    create: {path: "/things", safety: IdempotencyKey, idempotency: {header: Idempotency-Key, window: 1h}}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {value: self.metadata.uid, to: owner, operations: [Create]}
  - {from: spec.size, to: size}
`
	// lastResend is how long after an intent a create may be sent again: an hour without five minutes in which clocks may
	// differ, thirty seconds of request and twenty of slack.
	lastResend = time.Hour - 5*time.Minute - 50*time.Second
)

func idempotentThings() restfake.Collection {
	return restfake.Collection{Path: "/things", Idempotency: &restfake.Idempotency{Header: "Idempotency-Key", Window: time.Hour}}
}

// newKeyBench is a bench with one custom resource whose create got no answer.
func newKeyBench(t *testing.T, mapping string, fault restfake.Fault) *bench {
	t.Helper()
	b := newBench(t, mapping, idempotentThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, fault)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReconciling, "True ProgressingWithRetry")
	b.journal.take()
	return b
}

func (b *bench) keysSent() []string {
	var keys []string
	for _, r := range b.server.Requests() {
		if r.Method == http.MethodPost {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
		}
	}
	return keys
}

func TestACreateWithoutAnAnswerIsSentAgainWithItsKey(t *testing.T) {
	t.Parallel()
	for name, fault := range lostAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newKeyBench(t, idempotentMapping, fault)
			b.events.take()
			b.restart()
			b.advance(time.Minute)
			b.look("one")
			b.happened("write record=Creating", "POST /things", "swap record=Created", "GET /things/1", "status True Available")
			b.wantEvents("Normal SentAgain: the answer to a create was lost; it was sent again with its idempotency key: POST /things",
				"Normal Created: created outside: POST /things")
			b.wantLive(1)
			keys := b.keysSent()
			if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(keys[0]) || len(keys) != 2 || keys[0] != keys[1] {
				t.Errorf("the keys are %q", keys)
			}
			if err := b.server.Remove("/things/1"); err != nil {
				t.Fatal(err)
			}
			b.advance(time.Hour)
			b.follow("one", func() bool { return len(b.server.Live("/things")) == 1 })
			if keys = b.keysSent(); len(keys) != 3 || keys[2] == keys[0] {
				t.Errorf("another create has the same key: %q", keys)
			}
		})
	}
}

// The server's window is over some time after ours: its hour begins when the key came first, and clocks may differ.
func TestACreateIsNotSentAgainWhenItsKeyMayBeForgotten(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after time.Duration
		want  string
	}{
		"in time":                   {lastResend - time.Second, "True Available"},
		"too late":                  {lastResend, "False CreateOutcomeUnknown"},
		"much too late":             {24 * time.Hour, "False CreateOutcomeUnknown"},
		"clocks differ a little":    {-4 * time.Minute, "True Available"},
		"clocks differ beyond that": {-6 * time.Minute, "False CreateOutcomeUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
			b.advance(tc.after)
			b.restart()
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
			b.wantLive(1)
			if strings.HasPrefix(tc.want, "False") {
				b.nothingSent()
				b.wantMessage("one", v1alpha1.ConditionStalled, "may have forgotten its idempotency key", "absent@"+b.record("one").Attempt)
			}
		})
	}
}

// The endpoint's own timeout counts: a request that may take long must begin earlier.
func TestASlowEndpointSendsAgainForAShorterTime(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
	b.server.timeout = 5 * time.Minute
	b.advance(lastResend - 4*time.Minute)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "False CreateOutcomeUnknown")
	b.nothingSent()
}

// Writing down that it is sent again takes its time, too.
func TestTheKeyIsLookedAtOnceMoreBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
	b.advance(lastResend - time.Second)
	b.store.after = func(line string) {
		if line == "write record=Creating" {
			b.advance(time.Second)
		}
	}
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionReady, "False CreateOutcomeUnknown")
}

func TestACreateIsNotSentAgainAsAnotherRequest(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
	b.setSpec("one", "size", int64(4))
	for range 2 {
		b.look("one")
		b.nothingSent()
		b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
		b.wantMessage("one", v1alpha1.ConditionStalled, "it would be another request", "put the specification back", "adopt=<id>@"+b.record("one").Attempt)
		b.restart()
	}
	b.setSpec("one", "size", int64(3))
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.wantLive(1)
}

// A path is part of the request: many servers know a key for one path alone.
func TestAMappingThatSendsElsewhereDoesNotSendAgain(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"another path":   {`path: "/things", safety`, `path: "/others", safety`},
		"another query":  {`safety: Idem`, `query: [{name: force, value: "'yes'"}], safety: Idem`},
		"another header": {`header: Idempotency-Key`, `header: X-Idempotency-Key`},
		"another method": {`safety: Idem`, `method: PUT, safety: Idem`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
			b.reconciler.Serve(compile(t, strings.Replace(idempotentMapping, edit[0], edit[1], 1)))
			b.look("one")
			b.nothingSent()
			b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
		})
	}
}

// What was sent without a key cannot be sent again with one.
func TestAnAttemptOfBeforeTheClassIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, noneMapping, idempotentThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	b.look("one")
	b.journal.take()
	b.reconciler.Serve(compile(t, idempotentMapping))
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
}

// Where the mark can be searched for, no person is needed afterwards.
func TestAfterTheWindowTheMarkIsSearchedFor(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restfake.Fault{"done": restfake.CommitThenDrop(), "not done": restfake.Drop()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newKeyBench(t, keyAndMarkMapping, fault)
			b.advance(lastResend)
			b.restart()
			b.look("one")
			b.nothingSent()
			b.wantCondition("one", v1alpha1.ConditionReady, "Unknown WaitingForSettle")
			b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
			b.wantLive(1)
		})
	}
}

// A create that is sent again may be late as the first may have been: the wait begins anew, also for another process.
func TestACreateThatWasSentAgainIsGivenItsTime(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, keyAndMarkMapping, restfake.Drop())
	b.advance(lastResend - time.Second)
	b.server.fault(http.MethodPost, restfake.Drop())
	b.look("one")
	b.happened("write record=Creating", "POST /things", "status False Creating")
	b.advance(settleTime - time.Second)
	b.look("one")
	b.happened("status Unknown WaitingForSettle")
	b.advance(time.Second)
	b.look("one")
	b.happened("GET /things", "status Unknown WaitingForAbsence")
}

// A refusal of the second request says nothing about the first.
func TestARefusedKeyIsNoRefusedCreate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault restfake.Fault
		want  string
		then  string
	}{
		"in use":       {restfake.Reply(409, "application/json", `{"message":"the key is in use"}`), "False Conflict", "True Available"},
		"throttled":    {restfake.Reply(429, "application/json", `{}`), "Unknown Throttled", "False Throttled"}, // by the client itself
		"unauthorized": {restfake.Reply(401, "application/json", `{}`), "False Unauthorized", "True Available"},
		"lost again":   {restfake.Reply(500, "application/json", `{}`), "False Creating", "True Available"},
		"refused":      {restfake.Reply(422, "application/json", `{"message":"no such key"}`), "False CreateOutcomeUnknown", "False CreateOutcomeUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
			b.server.fault(http.MethodPost, tc.fault)
			result := b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
			if b.record("one").Phase != "Creating" {
				t.Errorf("the record is %+v", b.record("one"))
			}
			b.advance(max(result.After, time.Second))
			b.journal.take()
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, tc.then)
			b.wantLive(1)
			if strings.HasSuffix(tc.then, v1alpha1.ReasonCreateOutcomeUnknown) {
				b.nothingSent()
				b.wantMessage("one", v1alpha1.ConditionStalled, "refused it when it was sent again", "adopt=<id>")
			}
		})
	}
}

// With nothing to search by, what a lost create has left is only found out by sending it again; with a mark it is searched for.
func TestADeletionLearnsByTheKeyWhatWasMade(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restfake.Fault{"done": restfake.CommitThenDrop(), "not done": restfake.Drop()} {
		for mapping, posts := range map[string]int{idempotentMapping: 2, keyAndMarkMapping: 1} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := newKeyBench(t, mapping, fault)
				b.delete("one")
				b.restart()
				b.follow("one", b.gone("one"))
				b.wantLive(0)
				if got := len(b.keysSent()); got != posts {
					t.Errorf("%d creates were sent, want %d", got, posts)
				}
			})
		}
	}
}

func TestAPersonsAnswerComesBeforeTheKey(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
	b.annotate("one", v1alpha1.ResolveAnnotation, "adopt=1@"+b.record("one").Attempt)
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
}

// The word of an old cache is not enough: the attempt may be over, or a person may have answered.
func TestNothingIsSentAgainOnTheWordOfAnOldCache(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.Drop())
	b.store.holdBack(named("one"))
	b.restart()
	b.annotate("one", v1alpha1.ResolveAnnotation, "absent@"+b.record("one").Attempt)
	b.look("one")
	b.nothingSent()
	b.store.catchUp()
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.wantLive(1)
}

// Two processes that send the same create again get the same object. The one that comes second must not take it back.
func TestWhatAnotherProcessKeptIsNotTakenBack(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.CommitThenDrop())
	other := b.reconciler
	b.server.before = func(line string) {
		if line != "POST /things" {
			return
		}
		b.server.before = func(string) {}
		first := b.reconciler
		b.restart()
		b.reconciler, other = first, b.reconciler
		if result := other.Handle(t.Context(), named("one")); result.Err != nil {
			t.Errorf("the second process: %v", result.Err)
		}
		if result := other.Handle(t.Context(), named("one")); result.Err != nil {
			t.Errorf("the second process: %v", result.Err)
		}
	}
	b.look("one")
	for _, line := range b.journal.take() {
		if strings.HasPrefix(line, "DELETE") {
			t.Errorf("sent %s", line)
		}
	}
	b.wantLive(1)
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.wantLive(1)
}

// A custom resource that went while its create was sent again has its object taken back.
func TestWhatIsMadeForNobodyIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, idempotentMapping, restfake.Drop())
	b.server.before = func(line string) {
		if line == "POST /things" {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			delete(b.store.objects, named("one"))
		}
	}
	b.look("one")
	b.wantLive(0)
}

// The record tells no value of what was sent.
func TestTheRecordTellsNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	b := newKeyBench(t, strings.Replace(idempotentMapping, "fields: [", `fields: [{value: "'hunter2'", to: password, writeOnly: true}, `, 1), restfake.Drop())
	if text := b.recordText("one"); strings.Contains(text, "hunter2") || !strings.Contains(text, `"request":"`) {
		t.Errorf("the record is %s", text)
	}
}

// The header is for this class alone: net/http sends a POST that carries it again by itself.
func TestNoOtherClassSendsTheKey(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		if c.mapping == idempotentMapping {
			return
		}
		b.server.instead = func(req rest.Request) *rest.Exchange {
			for _, h := range req.Headers {
				if strings.Contains(strings.ToLower(h.Name), "idempotency") {
					b.Errorf("%s %s carries %s", req.Method, req.Path, h.Name)
				}
			}
			return nil
		}
		b.settled("one", "{size: 3}")
	})
}

// A create that is only accepted is answered by its key with the same operation.
func TestAnAcceptedCreateWithoutAnAnswerIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	things := idempotentThings()
	things.Later = &restfake.Later{Polls: 1}
	b := newBench(t, followed(idempotentMapping), things)
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	b.follow("one", b.ready("one"))
	b.wantLive(1)
	if keys := b.keysSent(); len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("the keys are %q", keys)
	}
}

// Without leader election another process may send the attempt again while its first create is under way. Both get the same
// object, and neither takes it from the other: whether the other has kept it by then, or has only written that it sends it.
func TestACreateThatAnotherProcessTakesUpIsKeptOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]*restfake.Fault{"the other keeps it": nil, "the other gets no answer": new(restfake.Drop())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, idempotentMapping, idempotentThings())
			b.create("one", "{size: 3}")
			b.server.before = func(line string) {
				if line != "POST /things" {
					return
				}
				b.server.before = func(string) {}
				if fault != nil {
					b.server.fault(http.MethodPost, *fault)
				}
				first := b.reconciler
				b.restart()
				other := b.reconciler
				b.reconciler = first
				other.Handle(t.Context(), named("one"))
			}
			b.look("one")
			for _, line := range b.journal.take() {
				if strings.HasPrefix(line, "DELETE") {
					t.Errorf("sent %s", line)
				}
			}
			b.wantLive(1)
			b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
			b.wantLive(1)
		})
	}
}
