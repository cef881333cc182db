package pass_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// async is how the operations of restfake are followed.
const async = `async: {done: operation.body.status == 'Success', failed: operation.body.status == 'Failure', message: operation.body.error}`

// followed gives a mapping whose changes are all done later.
func followed(mapping string) string {
	lines := strings.Split(mapping, "\n")
	for i, line := range lines {
		for _, operation := range []string{"create: {", "update: {", "delete: {"} {
			if strings.Contains(line, operation) {
				lines[i] = strings.Replace(line, operation, operation+async+", ", 1)
			}
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "assigned: response.body.id", "assigned: 'operation.body.?resource.?id.orValue(operation.body.?id)'")
}

// laterClasses are the classes of create safety at a server that does everything later.
func laterClasses() map[string]class {
	all := classes()
	delete(all, "IdempotencyKey") // what its key does not tell is found out as with None
	for name, c := range all {
		plain := c.collection
		c.mapping = followed(c.mapping)
		c.collection = func() restfake.Collection {
			collection := plain()
			collection.Later = &restfake.Later{Polls: 1}
			return collection
		}
		all[name] = c
	}
	return all
}

func eachLaterClass(t *testing.T, check func(b *bench, c class)) {
	t.Helper()
	for name, c := range laterClasses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newBench(t, c.mapping, c.collection()), c)
		})
	}
}

func (b *bench) ready(name string) func() bool {
	return b.is(name, v1alpha1.ConditionReady, "True Available")
}

func TestAnAcceptedCreateIsWrittenDownBeforeItIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t, followed(markerMapping), laterClasses()["Marker"].collection())
	b.create("one", "{size: 3}")
	result := b.look("one")
	b.happened("GET /things", "write record=Creating +finalizer", "POST /things", "swap record=Creating Create /operations/op-1", "status Unknown WaitingForOperation")
	b.wantConditions("one", "Ready Unknown WaitingForOperation", "Synced Unknown WaitingForOperation", "Reconciling True WaitingForOperation")
	if result.After != 3*time.Second {
		b.Errorf("it is asked about after %v", result)
	}
	b.look("one")
	b.happened("GET /operations/op-1")
	b.look("one")
	b.happened("GET /operations/op-1", "swap record=Created", "GET /things/1", "status True Available")
	b.wantLive(1)
}

func TestWhatIsDoneLaterIsMadeChangedAndRemovedOnce(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		eachLaterClass(t, func(b *bench, _ class) {
			each := func(done func() bool) {
				b.follow("one", func() bool {
					if restart {
						b.restart()
					}
					return done()
				})
			}
			b.create("one", "{size: 3}")
			each(b.ready("one"))
			b.wantLive(1)
			b.setSpec("one", "size", int64(4))
			each(func() bool { return b.ready("one")() && b.server.Live("/things")[0].Fields["size"] == int64(4) })
			b.delete("one")
			b.follow("one", b.gone("one"))
			b.wantLive(0)
		})
	}
}

// Killed between the answer and the record: the server is at work on something that nobody knows of.
func TestAnAcceptedCreateThatWasNotWrittenDownIsNotSentAgainBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	eachLaterClass(t, func(b *bench, c class) {
		b.create("one", "{size: 3}")
		ctx, kill := context.WithCancel(b.Context())
		b.store.before = func(line string) error {
			if strings.HasPrefix(line, "swap record=Creating Create") {
				kill()
			}
			return ctx.Err()
		}
		b.reconciler.Handle(ctx, named("one"))
		b.store.before = func(string) error { return nil }
		b.journal.take()
		b.restart()
		b.advance(9 * time.Minute)
		b.look("one")
		b.nothingSent()
		b.server.FinishOperations()
		if c.mapping == followed(noneMapping) {
			b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
			return
		}
		b.follow("one", b.ready("one"))
		b.wantLive(1)
		b.delete("one")
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

// An operation that the server has forgotten says nothing: the object itself is looked at.
func TestAForgottenOperationIsNoFailure(t *testing.T) {
	t.Parallel()
	eachLaterClass(t, func(b *bench, c class) {
		b.create("one", "{size: 3}")
		b.look("one")
		b.server.FinishOperations()
		b.server.ForgetOperations()
		if c.mapping == followed(noneMapping) {
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
			b.wantLive(1)
			return
		}
		b.follow("one", b.ready("one"))
		b.wantLive(1)
		b.setSpec("one", "size", int64(4))
		b.look("one")
		b.server.FinishOperations()
		b.server.ForgetOperations()
		b.follow("one", b.ready("one"))
		b.delete("one")
		b.look("one")
		b.server.FinishOperations()
		b.server.ForgetOperations()
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

// A forgotten create whose object is not there may still be at work; nothing is sent before its deadline.
func TestAForgottenCreateIsGivenItsTime(t *testing.T) {
	t.Parallel()
	eachLaterClass(t, func(b *bench, c class) {
		if c.mapping == followed(noneMapping) {
			return
		}
		b.create("one", "{size: 3}")
		b.look("one")
		b.server.ForgetOperations()
		b.journal.take()
		for range 20 {
			b.advance(25 * time.Second)
			b.look("one")
		}
		b.nothingSent()
		b.delete("one")
		b.look("one")
		b.nothingSent()
		if b.gone("one")() {
			b.Fatal("it was let go with its create under way")
		}
		b.server.FinishOperations()
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

func TestAFailedCreateIsLookedAtBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, half := range []bool{false, true} {
		eachLaterClass(t, func(b *bench, c class) {
			b.server.FailNext(restfake.Failure{Message: "no room on " + credential, Half: half})
			b.create("one", "{size: 3}")
			b.look("one")
			b.look("one")
			b.look("one")
			if b.ready("one")() {
				b.wantLive(1) // half made, found, and as specified
			} else {
				b.wantMessage("one", v1alpha1.ConditionReady, "no room on [redacted]")
			}
			if c.mapping == followed(noneMapping) {
				b.wantCondition("one", v1alpha1.ConditionStalled, "True CreateOutcomeUnknown")
				b.annotate("one", v1alpha1.ResolveAnnotation, "absent@"+b.record("one").Attempt)
				for _, o := range b.server.Live("/things") {
					if err := b.server.Remove(o.Path); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.follow("one", b.ready("one"))
			b.wantLive(1)
		})
	}
}

// LXD accepts a second instance of the same name, and says inside the operation that it exists already.
func TestWhatAFailedCreateFindsIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	const taken = `
  outcomes: [{operations: [Create], when: "response.body.error.contains('exists')", outcome: Conflict}]
`
	for declared, want := range map[string]string{taken: "True NotAdoptable", "": "True CreateOutcomeUnknown"} {
		b := newBench(t, followed(uniqueMapping)+declared, laterClasses()["UniqueKey"].collection())
		b.create("one", "{size: 3}")
		b.look("one")
		if _, err := b.server.Insert("/things", map[string]any{"id": "one", "size": int64(99)}); err != nil {
			b.Fatal(err)
		}
		b.server.FinishOperations()
		b.look("one")
		b.wantCondition("one", v1alpha1.ConditionStalled, want)
		b.restart()
		b.look("one")
		b.wantCondition("one", v1alpha1.ConditionStalled, want)
		b.delete("one")
		for range 5 {
			b.advance(time.Minute)
			b.look("one")
		}
		b.wantLive(1)
		for _, line := range b.journal.take() {
			if strings.HasPrefix(line, "DELETE") {
				b.Errorf("what is not ours was deleted: %s", line)
			}
		}
		if gone := b.gone("one")(); gone != (declared != "") {
			b.Errorf("the custom resource is gone: %v", gone)
		}
	}
}

func TestAFailedUpdateOrDeleteIsTriedAgain(t *testing.T) {
	t.Parallel()
	eachLaterClass(t, func(b *bench, _ class) {
		b.create("one", "{size: 3}")
		b.follow("one", b.ready("one"))
		b.server.FailNext(restfake.Failure{Message: "busy"})
		b.setSpec("one", "size", int64(4))
		b.look("one")
		b.look("one")
		b.look("one")
		b.wantMessage("one", v1alpha1.ConditionReady, "busy")
		b.wantCondition("one", v1alpha1.ConditionReady, "False OperationFailed")
		b.follow("one", b.ready("one"))
		b.server.FailNext(restfake.Failure{Message: "in use"})
		b.delete("one")
		b.look("one")
		b.look("one")
		b.look("one")
		b.wantMessage("one", v1alpha1.ConditionReady, "in use")
		b.wantLive(1)
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

func TestDeletingWaitsForACreateUnderWay(t *testing.T) {
	t.Parallel()
	eachLaterClass(t, func(b *bench, _ class) {
		b.create("one", "{size: 3}")
		b.look("one")
		b.delete("one")
		b.journal.take()
		b.look("one")
		b.nothingSent()
		b.follow("one", b.gone("one"))
		b.wantLive(0)
		if b.server.Running() > 0 {
			b.Error("an operation is still running")
		}
	})
}

func TestAnOperationThatTakesTooLong(t *testing.T) {
	t.Parallel()
	slow := laterClasses()["Marker"].collection()
	slow.Later = &restfake.Later{Polls: 1000}
	b := newBench(t, followed(markerMapping), slow)
	b.create("one", "{size: 3}")
	b.look("one")
	b.advance(10*time.Minute + time.Second)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionStalled, "True OperationTimedOut")
	b.wantMessage("one", v1alpha1.ConditionStalled, "operations.create.async.deadline", "absent@"+b.record("one").Attempt)
	b.delete("one")
	b.look("one")
	if b.gone("one")() {
		b.Fatal("it was let go with its create under way")
	}
	b.server.FinishOperations()
	b.follow("one", func() bool { b.server.FinishOperations(); return b.gone("one")() })
	b.wantLive(0)
}

func TestAnUpdateThatTakesTooLongIsSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, followed(upsertMapping), laterClasses()["Upsert"].collection())
	b.create("one", "{size: 3}")
	b.follow("one", b.ready("one"))
	b.server.ForgetOperations()
	b.setSpec("one", "size", int64(4))
	b.look("one")
	b.server.AddRule(restfake.Rule{Method: "GET", Path: "/operations/*", Times: 1, Fault: restfake.Reply(200, "application/json", `{"status":"Running"}`)})
	b.advance(10*time.Minute + time.Second)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "False OperationTimedOut")
	b.follow("one", b.ready("one"))
	b.wantLive(1)
}

// A server does not steer the operator elsewhere, and no secret is written down.
func TestTheURLOfAnOperationIsChecked(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{
		"another host": "https://evil.example.com/operations/1", "a credential": "/operations/1?key=" + credential,
		"no URL": "/operations/%zz", "none": "",
	} {
		b := newBench(t, followed(markerMapping), laterClasses()["Marker"].collection())
		fault := restfake.Reply(202, "application/json", `{}`)
		fault.Header["Location"] = location
		b.create("one", "{size: 3}")
		b.server.fault("POST", fault)
		b.look("one")
		if op := b.record("one").Underway; op == nil || op.URL != "" {
			b.Errorf("%s: the record says %+v", name, op)
		}
		if warnings := strings.Join(b.events.take(), "\n"); !strings.Contains(warnings, "OperationUnknown") || strings.Contains(warnings, credential) {
			b.Errorf("%s: %s", name, warnings)
		}
		for _, line := range b.journal.take() {
			if strings.HasPrefix(line, "GET /operations") {
				b.Errorf("%s: asked %s", name, line)
			}
		}
	}
}

func TestRetryAfterSaysWhenToAskAgain(t *testing.T) {
	t.Parallel()
	collection := laterClasses()["Upsert"].collection()
	collection.Later = &restfake.Later{Polls: 1, RetryAfter: "17"}
	b := newBench(t, followed(upsertMapping), collection)
	b.create("one", "{size: 3}")
	b.look("one")
	if result := b.look("one"); result.After != 17*time.Second {
		b.Errorf("it is asked about after %v", result)
	}
}

// The finalizer was taken away by force while the create was accepted: nothing but this process remembers it.
func TestAnAcceptedCreateOfACustomResourceThatIsGoneIsTakenBack(t *testing.T) {
	t.Parallel()
	collection := uniqueThings()
	collection.Later = &restfake.Later{Methods: []string{http.MethodPost}, Polls: 1}
	b := newBench(t, followed(uniqueMapping), collection)
	b.create("one", "{size: 3}")
	b.server.before = func(line string) {
		if strings.HasPrefix(line, "POST") {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			delete(b.store.objects, named("one"))
		}
	}
	b.look("one")
	b.wantLive(0)
	if b.server.Running() > 0 {
		b.Error("its create is still running")
	}
}
