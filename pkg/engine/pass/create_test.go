package pass_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// class is one class of create safety with what a create looks like.
type class struct {
	mapping    string
	collection func() restfake.Collection
	// creates is what a pass over a new custom resource writes and sends.
	creates []string
	// steady is what a pass over a settled one sends.
	steady []string
	update string
	delete string
}

func classes() map[string]class {
	return map[string]class{
		"Upsert": {
			mapping: upsertMapping, collection: upsertThings,
			creates: []string{
				"GET /things/one", "write record=Created +finalizer", "PUT /things/one", "GET /things/one", "status True Available",
			},
			steady: []string{"GET /things/one"}, update: "PUT /things/one", delete: "DELETE /things/one",
		},
		"UniqueKey": {
			mapping: uniqueMapping, collection: uniqueThings,
			creates: []string{
				"GET /things/one", "write record=Created +finalizer", "POST /things", "GET /things/one", "status True Available",
			},
			steady: []string{"GET /things/one"}, update: "PATCH /things/one", delete: "DELETE /things/one",
		},
		"UniqueKey with an id of the server": {
			mapping: keyedMapping, collection: keyedThings,
			creates: []string{
				"GET /things", "write record=Creating +finalizer", "POST /things", "swap record=Created", "GET /things/1", "status True Available",
			},
			steady: []string{"GET /things/1"}, update: "PATCH /things/1", delete: "DELETE /things/1",
		},
		"Marker": {
			mapping: markerMapping, collection: markedThings,
			creates: []string{
				"GET /things", "write record=Creating +finalizer", "POST /things", "swap record=Created", "GET /things/1", "status True Available",
			},
			steady: []string{"GET /things/1"}, update: "PATCH /things/1", delete: "DELETE /things/1",
		},
		"IdempotencyKey": {
			mapping: idempotentMapping, collection: idempotentThings,
			creates: []string{
				"write record=Creating +finalizer", "POST /things", "swap record=Created", "GET /things/1", "status True Available",
			},
			steady: []string{"GET /things/1"}, update: "PATCH /things/1", delete: "DELETE /things/1",
		},
		"None": {
			mapping: noneMapping, collection: plainThings,
			creates: []string{
				"write record=Creating +finalizer", "POST /things", "swap record=Created", "GET /things/1", "status True Available",
			},
			steady: []string{"GET /things/1"}, update: "PATCH /things/1", delete: "DELETE /things/1",
		},
	}
}

// eachClass runs a part of a test for each class of create safety.
func eachClass(t *testing.T, check func(b *bench, c class)) {
	t.Helper()
	for name, c := range classes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newBench(t, c.mapping, c.collection()), c)
		})
	}
}

func TestACreateWritesAndSendsNoMoreThanItsClassNeeds(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.create("one", "{size: 3, color: red}")
		result := b.look("one")
		b.happened(c.creates...)
		b.wantConditions("one", "Ready True Available", "Synced True InSync")
		b.wantLive(1)
		if result.Err != nil || result.After != 10*time.Minute {
			b.Errorf("the next look is %v", result)
		}
		if got := b.status("one")["observedGeneration"]; got != int64(1) {
			b.Errorf("observedGeneration is %v", got)
		}
	})
}

func TestTheRecordHoldsWhatFindsTheObjectAgain(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		want := lifecycle.NewRecord(subjectOf("one"), "server-a", lifecycle.PhaseCreated)
		want.Identifiers = map[string]string{"id": strings.TrimPrefix(c.delete, "DELETE /things/")}
		got := b.record("one")
		if got.Attempt == "" || got.At != "2026-05-01T12:01:00Z" {
			b.Errorf("the attempt is %q of %q", got.Attempt, got.At)
		}
		want.Attempt, want.At, want.Generation = got.Attempt, got.At, 1
		want.Key, want.MAC = b.keys.ring.Signing(), got.MAC
		if diff := cmp.Diff(want, got); diff != "" {
			b.Errorf("record (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]any{"id": want.Identifiers["id"]}, b.status("one")["identifiers"]); diff != "" {
			b.Errorf("identifiers in the status (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3, color: red}")
		for range 5 {
			b.advance(10 * time.Minute)
			b.look("one")
			b.happened(c.steady...)
		}
		b.restart()
		b.look("one")
		b.happened(c.steady...)
		b.wantEvents()
	})
}

func TestAnUpdateIsOneRequestAndOneWrite(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.setSpec("one", "size", int64(4))
		b.look("one")
		b.happened(c.steady[0], c.update, c.steady[0], "status True Available")
		b.wantEvents("Normal Updated: updated outside: size (found 3, wanted 4)")
		if got := b.status("one")["observedGeneration"]; got != int64(2) {
			b.Errorf("observedGeneration is %v", got)
		}
		b.look("one")
		b.happened(c.steady...)
	})
}

func TestADeletionIsVerifiedAndLetsGoLast(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.delete("one")
		b.look("one")
		b.happened(slices.Concat(c.beforeDelete(), []string{c.delete}, c.absent(), []string{"write -finalizer"})...)
		b.wantLive(0)
		if !b.gone("one")() {
			b.Error("the custom resource is still there")
		}
		b.wantEvents("Normal Released: the object outside is gone")
		b.look("one")
		b.happened()
		if last := b.observed[len(b.observed)-1]; !last.Gone {
			b.Errorf("the last summary is %+v", last)
		}
	})
}

func TestADeleteThatWasAcceptedIsNotYetDone(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.server.fault(http.MethodDelete, restfake.Reply(202, "application/json", "{}"))
	b.delete("one")
	result := b.look("one")
	b.happened("DELETE /things/one", "GET /things/one", "status Unknown Deleting")
	if result.After <= 0 {
		b.Errorf("the next look is %v", result)
	}
	b.follow("one", b.gone("one"))
	b.wantLive(0)
}

// The intent stands before the create is sent: otherwise a crash in between leaves an object that nobody remembers.
func TestWithoutAnIntentNothingIsSent(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.create("one", "{size: 3}")
		b.failOnce("write record=", errAPIServer)
		result := b.look("one")
		b.nothingSent()
		if result.Err == nil {
			b.Errorf("the next look is %v, want backoff", result)
		}
		b.wantLive(0)
		b.look("one")
		b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
		b.wantLive(1)
	})
}

// The intent's lock stops a pass that acts on an old version: here another process has made the object already.
func TestACacheThatIsBehindAnotherProcessSendsNothing(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.create("one", "{size: 3}")
		b.store.holdBack(named("one"))
		b.edit("one", func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"touched": "yes"}) })
		result := b.look("one")
		for _, line := range b.journal.take() {
			if strings.HasPrefix(line, "POST") || strings.HasPrefix(line, "PUT") {
				b.Errorf("sent %s on an old version", line)
			}
		}
		if result.Err != nil || result.After != 200*time.Millisecond {
			b.Errorf("the next look is %v, want soon and without backoff", result)
		}
		b.store.catchUp()
		b.look("one")
		b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
		b.wantLive(1)
	})
}

// The same process never reads its own write back through the cache.
func TestACacheThatIsBehindOurOwnWritesIsNotBelieved(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.create("one", "{size: 3}")
		b.store.holdBack(named("one"))
		b.look("one")
		b.journal.take()
		b.advance(time.Hour)
		b.look("one")
		b.happened(c.steady...)
		b.wantLive(1)
		b.store.catchUp()
		b.look("one")
		b.happened(c.steady...)
	})
}

func TestANamesakeThatWasMadeSinceIsAnotherOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, markedThings())
	b.settled("one", "{size: 3}")
	b.edit("one", func(obj *unstructured.Unstructured) {
		obj.SetUID("uid-of-the-namesake")
		obj.SetAnnotations(nil)
		obj.SetFinalizers(nil)
		obj.Object["status"] = map[string]any{"observedGeneration": int64(-1)}
	})
	b.look("one")
	b.happened("GET /things", "write record=Creating +finalizer", "POST /things", "swap record=Created", "GET /things/2", "status True Available")
}

// A custom resource that is deleted and made again at once is seen as the new one alone; nobody tells that the former
// went. What that held must be free.
func TestANamesakeOfTheSameIdentityIsNotHeldUpByTheFormer(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.delete("one")
	b.look("one")
	b.journal.take()
	b.create("one", "{size: 4}")
	b.edit("one", func(obj *unstructured.Unstructured) { obj.SetUID("uid-of-the-namesake") })
	b.look("one")
	b.happened("GET /things/one", "write record=Created +finalizer", "PUT /things/one", "GET /things/one", "status True Available")
	b.wantLive(1)
}

func TestEveryPassTellsHowItEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.look("one")
	b.server.instead = func(rest.Request) *rest.Exchange {
		b.advance(3 * time.Second)
		return nil
	}
	b.look("one")
	if diff := cmp.Diff(3*time.Second, b.observed[1].Duration); diff != "" {
		b.Errorf("duration (-want +got):\n%s", diff)
	}
	b.observed[1].Duration = b.observed[0].Duration
	for _, got := range b.observed {
		if got.Key != named("one") || !got.Ready || got.Stalled || got.End != "Finish" || got.Reason != "InSync" || got.Gone {
			b.Errorf("summary %+v", got)
		}
	}
}
