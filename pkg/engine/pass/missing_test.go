package pass_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/rest"
)

// absent is what a look sends that does not find the object: the list is asked too where what it finds is ours.
func (c class) absent() []string {
	if c.mapping == markerMapping || c.mapping == keyedMapping {
		return append(slices.Clone(c.steady), "GET /things")
	}
	return slices.Clone(c.steady)
}

// beforeDelete: with a marker it is the mark that says whose the object is.
func (c class) beforeDelete() []string {
	if c.mapping == markerMapping {
		return c.steady
	}
	return nil
}

func path(c class) string { return strings.TrimPrefix(c.steady[0], "GET ") }

// One not-found is not believed: reads lag, credentials lose rights, gateways lie.
func TestAnAbsenceIsBelievedTheSecondTime(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		if err := b.server.Remove(path(c)); err != nil {
			b.Fatal(err)
		}
		result := b.look("one")
		b.happened(append(c.absent(), "status Unknown WaitingForAbsence")...)
		if result.After != time.Second {
			b.Errorf("the next look is %v", result)
		}
		b.advance(999 * time.Millisecond)
		b.look("one")
		b.happened(c.absent()...)
		b.advance(time.Second)
		b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
		b.wantLive(1)
	})
}

func TestAnObjectThatComesBackBetweenTwoLooksIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.server.fault(http.MethodGet, restfake.Reply(404, "application/json", "{}"))
	b.look("one")
	b.advance(time.Second)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.advance(time.Hour)
	b.server.fault(http.MethodGet, restfake.Reply(404, "application/json", "{}"))
	b.journal.take()
	b.look("one")
	b.happened("GET /things/one", "status Unknown WaitingForAbsence")
}

// Within the consistency window after a write a not-found says nothing.
func TestAnAbsenceJustAfterAWriteWaitsForTheWindow(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPut, restfake.Hidden(5*time.Second))
	result := b.look("one")
	b.happened("GET /things/one", "write record=Created +finalizer", "PUT /things/one", "GET /things/one", "status Unknown Creating")
	if result.After != 10*time.Second {
		b.Errorf("the next look is %v, want the consistency window", result)
	}
	b.advance(2 * time.Second)
	b.look("one")
	b.nothingSent()
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.nothingSent()
	b.wantLive(1)
}

// An update is not sent again while reads may lag behind it.
func TestAnUpdateIsNotRepeatedWithinTheWindow(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.setSpec("one", "size", int64(4))
	b.server.fault(http.MethodPut, restfake.Hidden(8*time.Second))
	b.look("one")
	b.happened("GET /things/one", "PUT /things/one", "GET /things/one", "status False Updating")
	b.advance(3 * time.Second)
	result := b.look("one")
	b.nothingSent()
	if result.After != 7*time.Second {
		b.Errorf("the next look is %v, want the rest of the window", result)
	}
	b.advance(result.After)
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
}

func TestAProbeThatFailsKeepsAnAbsenceFromBeingBelieved(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.server.declared, b.server.probe = true, errors.New("GET /version answered 401 Unauthorized for "+credential)
		if err := b.server.Remove(path(c)); err != nil {
			b.Fatal(err)
		}
		for range 4 {
			b.look("one")
			b.advance(2 * time.Second)
		}
		b.nothingSent()
		b.wantLive(0)
		b.wantCondition("one", v1alpha1.ConditionReady, "Unknown ProbeFailed")
		b.wantMessage("one", v1alpha1.ConditionReady, "may be a lost permission", "GET /version answered 401", "[redacted]")
		b.delete("one")
		for range 4 {
			b.look("one")
			b.advance(2 * time.Second)
		}
		if b.gone("one")() {
			b.Fatal("let go although nothing can be seen")
		}
		b.server.probe = nil
		b.follow("one", b.gone("one"))
	})
}

func TestAProbeIsAskedOnlyAboutAnAbsence(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.server.declared = true
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.look("one")
	b.happened("GET /things/one")
	if err := b.server.Remove("/things/one"); err != nil {
		b.Fatal(err)
	}
	b.look("one")
	b.advance(2 * time.Second)
	b.journal.take()
	b.look("one")
	b.happened("GET /things/one", "probe", "write record=Created", "PUT /things/one", "GET /things/one", "status True Available")
}

func TestWithOnMissingStallAPersonDecides(t *testing.T) {
	t.Parallel()
	eachClassWith(t, "  policy: {onMissing: Stall}\n", func(b *bench, c class) {
		b.create("one", "{size: 3}")
		b.look("one")
		// Where the identity was recorded before the create, being seen is recorded by itself.
		want := slices.Clone(c.creates)
		if !slices.Contains(want, "swap record=Created") {
			want = slices.Insert(want, len(want)-1, "swap record=Created")
		}
		b.happened(want...)
		if !b.record("one").Seen {
			b.Error("the record does not say that the object was seen")
		}
		b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
		b.journal.take()
		b.look("one")
		b.happened(c.steady...)
		b.advance(time.Hour)
		if err := b.server.Remove(path(c)); err != nil {
			b.Fatal(err)
		}
		b.restart() // the record tells it, not the memory
		b.edit("one", func(obj *unstructured.Unstructured) {
			obj.Object["status"] = map[string]any{"observedGeneration": int64(-1)} // nor the status
		})
		b.advance(settleTime)
		b.journal.take()
		b.follow("one", b.is("one", v1alpha1.ConditionStalled, "True ExternalMissing"))
		b.nothingSent()
		b.wantLive(0)
	})
}

// eachClassWith is eachClass with more of a mapping.
func eachClassWith(t *testing.T, more string, check func(b *bench, c class)) {
	t.Helper()
	for name, c := range classes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newBench(t, c.mapping+more, c.collection()), c)
		})
	}
}

// Where the identity is recorded before the create, only having been seen makes an absence a disappearance.
func TestAFirstCreateIsNotMistakenForADisappearance(t *testing.T) {
	t.Parallel()
	for _, c := range []class{classes()["Upsert"], classes()["UniqueKey"]} {
		b := newBench(t, c.mapping+"  policy: {onMissing: Stall}\n", c.collection())
		b.create("one", "{size: 3}")
		b.server.before = func(line string) {
			if strings.HasPrefix(line, "P") {
				b.server.before = func(string) {}
				b.restart() // the process ends before the create leaves it
			}
		}
		b.server.instead = func(req rest.Request) *rest.Exchange {
			if req.Operation == rest.Create {
				b.server.instead = func(rest.Request) *rest.Exchange { return nil }
				return &rest.Exchange{Failure: &rest.Failure{Kind: rest.NotSent, Message: "the process ended"}}
			}
			return nil
		}
		b.look("one")
		b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
		b.wantLive(1)
	}
}

func TestARecordForAnotherServerStopsEverything(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.server.identity = "server-b"
		b.setSpec("one", "size", int64(4))
		b.look("one")
		b.happened("status False TargetIdentityChanged")
		b.wantCondition("one", v1alpha1.ConditionStalled, "True TargetIdentityChanged")
		b.delete("one")
		b.look("one")
		b.nothingSent()
		b.wantCondition("one", v1alpha1.ConditionStalled, "True TargetIdentityChanged")
		b.server.identity = "server-a"
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

func TestAnotherIdentityIsNotAnotherObject(t *testing.T) {
	t.Parallel()
	byName := strings.ReplaceAll(upsertMapping, "value: self.metadata.name", "value: self.spec.name")
	b := newBench(t, byName, upsertThings())
	b.settled("one", "{size: 3, name: first}")
	b.advance(time.Hour)
	b.setSpec("one", "name", "second")
	b.look("one")
	b.happened("status False TargetIdentityChanged")
	b.wantMessage("one", v1alpha1.ConditionStalled, `identifiers: id (created with "first", now "second")`)
	b.delete("one")
	b.follow("one", b.gone("one"))
	b.wantLive(0)
	if sent := b.server.Count(http.MethodDelete, ""); sent != 1 {
		b.Errorf("%d deletes were sent, want one of the recorded object", sent)
	}
}

// A manifest that was copied or restored carries the record of another custom resource.
func TestARecordOfAnotherCustomResourceProvesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]class{"Upsert": classes()["Upsert"], "UniqueKey": classes()["UniqueKey"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.mapping, c.collection())
			b.settled("one", "{size: 3}")
			b.restart()
			b.advance(time.Hour)
			b.edit("one", func(obj *unstructured.Unstructured) { obj.SetUID("uid-of-a-copy") })
			b.setSpec("one", "size", int64(5))
			b.look("one")
			b.happened("GET /things/one", "status False NotAdoptable")
			b.wantMessage("one", v1alpha1.ConditionStalled, "another custom resource")
			b.delete("one")
			b.look("one")
			b.nothingSent()
			if !b.gone("one")() {
				b.Error("the copy is held")
			}
			b.wantLive(1)
		})
	}
}

func TestARecordThatWasStripped(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		class string
		want  string
		live  int
	}{
		"is found again by the marker":                   {"Marker", "True Available", 1},
		"is not made up where an object has its name":    {"Upsert", "False RecordLost", 1},
		"is not made up where the key is taken":          {"UniqueKey", "False RecordLost", 1},
		"is not made up where nothing can be found by":   {"None", "False RecordLost", 1},
		"is not made up where a key of the list matches": {"UniqueKey with an id of the server", "False RecordLost", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := classes()[tc.class]
			for _, unreadable := range []string{"", "no json", `{"v":0,"phase":"Created"}`} {
				b := newBench(t, c.mapping, c.collection())
				b.settled("one", "{size: 3}")
				b.advance(time.Hour)
				b.annotate("one", v1alpha1.RecordAnnotation, unreadable)
				b.look("one")
				b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
				b.nothingSent()
				b.wantLive(tc.live)
			}
		})
	}
}

func TestADeletionWithoutItsRecord(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		gone bool
		live int
	}{
		"Marker":                             {true, 0},
		"Upsert":                             {false, 1},
		"UniqueKey":                          {false, 1},
		"UniqueKey with an id of the server": {false, 1},
		"None":                               {false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := classes()[name]
			b := newBench(t, c.mapping, c.collection())
			b.settled("one", "{size: 3}")
			b.advance(time.Hour)
			b.annotate("one", v1alpha1.RecordAnnotation, "")
			b.delete("one")
			for range 4 {
				b.look("one")
				b.advance(2 * time.Second)
			}
			if got := b.gone("one")(); got != tc.gone {
				b.Errorf("let go: %t", got)
			}
			if !tc.gone {
				b.wantCondition("one", v1alpha1.ConditionStalled, "True RecordLost")
			}
			b.wantLive(tc.live)
		})
	}
}

func TestADeletionThatLeavesTheObject(t *testing.T) {
	t.Parallel()
	eachClassWith(t, "  policy: {deletion: Orphan}\n", func(b *bench, _ class) {
		b.settled("one", "{size: 3}")
		b.server.unavailable = errors.New("the endpoint is gone too")
		b.delete("one")
		b.look("one")
		b.happened("write -finalizer")
		b.wantEvents("Normal Released: let go; nothing was deleted outside")
		b.wantLive(1)
	})
}

func TestADeletionWithoutAnObjectOutsideNeedsNoServer(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.edit("one", func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/other"}) })
	b.delete("one")
	b.look("one")
	b.happened()
}

func TestReleaseOfWhatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.delete("one")
	b.server.before = func(line string) {
		if strings.HasPrefix(line, "DELETE") {
			delete(b.store.objects, named("one")) // somebody removed the finalizers
		}
	}
	result := b.look("one")
	b.happened("DELETE /things/one", "GET /things/one", "write -finalizer NotFound")
	b.wantEvents("Normal Released: the object outside is gone")
	if result.Err != nil || result.After != 0 {
		b.Errorf("what is gone is tried again: %v", result)
	}
}

// Others' finalizers stay, and ours goes only once.
func TestOnlyOurFinalizerIsTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.create("one", "{size: 3}")
	b.edit("one", func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/other"}) })
	b.look("one")
	if got := strings.Join(b.obj("one").GetFinalizers(), " "); got != "example.com/other "+v1alpha1.Finalizer {
		b.Errorf("finalizers: %s", got)
	}
	b.advance(time.Hour)
	b.delete("one")
	b.look("one")
	if got := strings.Join(b.obj("one").GetFinalizers(), " "); got != "example.com/other" {
		b.Errorf("finalizers: %s", got)
	}
	b.journal.take()
	b.look("one")
	b.happened()
}
