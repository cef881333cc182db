package pass_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/restfake"
)

// The identity of these is chosen and stands in the record before the create, so that only the write that follows it
// tells that the custom resource has gone meanwhile.
func TestAChosenObjectThatNobodyWillRememberIsTakenBack(t *testing.T) {
	t.Parallel()
	classes := map[string]struct {
		mapping    string
		collection restfake.Collection
	}{
		"Upsert":    {upsertMapping, upsertThings()},
		"UniqueKey": {uniqueMapping, uniqueThings()},
	}
	for name, class := range classes {
		t.Run(name+", the custom resource is gone", func(t *testing.T) {
			t.Parallel()
			b := whileCreating(t, class.mapping, class.collection, func(b *bench) { delete(b.store.objects, named("one")) })
			b.look("one")
			b.wantLive(0)
			b.look("one")
			b.journal.take()
			b.look("one")
			b.happened()
		})
		t.Run(name+", a namesake stands in its place", func(t *testing.T) {
			t.Parallel()
			b := whileCreating(t, class.mapping, class.collection, func(b *bench) {
				b.edit("one", func(obj *unstructured.Unstructured) {
					obj.SetUID("uid-of-the-namesake")
					obj.SetAnnotations(nil)
					obj.SetFinalizers(nil)
				})
			})
			b.look("one")
			b.follow("one", b.is("one", "Ready", "True Available"))
			if got := b.record("one").UID; got != "uid-of-the-namesake" {
				t.Errorf("the record is of %s", got)
			}
			b.wantLive(1)
		})
		t.Run(name+", it is still there and was only written by somebody", func(t *testing.T) {
			t.Parallel()
			b := whileCreating(t, class.mapping, class.collection, func(b *bench) { b.annotate("one", "example.com/note", "hello") })
			b.look("one")
			b.follow("one", b.is("one", "Ready", "True Available"))
			b.wantLive(1)
			b.nothingDeleted()
		})
		t.Run(name+", it only left the selector", func(t *testing.T) {
			t.Parallel()
			b := whileCreating(t, class.mapping, class.collection, func(b *bench) { b.annotate("one", "example.com/note", "hello") })
			b.look("one")
			b.store.hidden = true
			b.look("one")
			b.wantLive(1)
			b.nothingDeleted()
		})
		t.Run(name+", gone long after its create", func(t *testing.T) {
			t.Parallel()
			b := newBench(t, class.mapping, class.collection)
			b.settled("one", "{size: 3}")
			delete(b.store.objects, named("one"))
			b.look("one")
			b.wantLive(1)
			b.happened()
		})
		t.Run(name+", whose objects stay", func(t *testing.T) {
			t.Parallel()
			b := whileCreating(t, class.mapping+"  policy: {deletion: Orphan}\n", class.collection, func(b *bench) { delete(b.store.objects, named("one")) })
			b.look("one")
			b.wantLive(1)
		})
	}
}

// whileCreating makes a custom resource to which something happens while its create is at the server.
func whileCreating(t *testing.T, mapping string, collection restfake.Collection, meanwhile func(*bench)) *bench {
	t.Helper()
	b := newBench(t, mapping, collection)
	b.create("one", "{size: 3}")
	b.server.before = func(line string) {
		if strings.HasPrefix(line, "PUT") || strings.HasPrefix(line, "POST") {
			b.server.before = func(string) {}
			meanwhile(b)
		}
	}
	return b
}

func (b *bench) nothingDeleted() {
	b.Helper()
	for _, line := range b.journal.take() {
		if strings.HasPrefix(line, "DELETE") {
			b.Errorf("sent %s", line)
		}
	}
}

// A server that fails for a moment does not make it a leak.
func TestTakingBackIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := whileCreating(t, markerMapping, markedThings(), func(b *bench) { delete(b.store.objects, named("one")) })
	b.server.fault("DELETE", restfake.Reply(500, "text/plain", "broken"))
	b.look("one")
	b.wantLive(0)
}

// An object that a create ran into was there before; it is not the one that this attempt made.
func TestWhatACreateRanIntoIsNotTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, keyedMapping+"  policy: {adoption: ByIdentity}\n", keyedThings())
	b.create("one", "{size: 3}")
	b.server.before = func(line string) {
		if strings.HasPrefix(line, "POST") {
			if _, err := b.server.Insert("/things", map[string]any{"name": "one", "size": 3}); err != nil {
				b.Fatal(err)
			}
			delete(b.store.objects, named("one"))
		}
	}
	b.look("one")
	b.nothingDeleted()
	b.wantLive(1)
}

// An outage of the API server is longer than a few quick tries.
func TestTheIdentityIsKeptThroughManyErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t, noneMapping, plainThings())
	b.create("one", "{size: 3}")
	failures := 12
	b.store.before = func(line string) error {
		if strings.HasPrefix(line, "swap") && failures > 0 {
			failures--
			return errAPIServer
		}
		return nil
	}
	b.look("one")
	b.wantCondition("one", "Ready", "True Available")
	b.wantLive(1)
}
