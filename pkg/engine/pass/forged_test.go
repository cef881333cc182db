package pass_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// A person who may edit the custom resource must not be able to make the endpoint's credential delete or change what is
// somebody else's, by writing its identifier into the record.
func TestAForgedRecordMovesNothing(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"looked at": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachClass(t, func(b *bench, _ class) {
				b.settled("victim", "{size: 3, color: red}")
				b.settled("one", "{size: 4, color: blue}")
				genuine, mine := b.recordText("one"), b.record("one").Identifiers["id"]
				forged := strings.Replace(genuine, `"ids":{"id":"`+mine+`"}`, `"ids":{"id":"`+b.record("victim").Identifiers["id"]+`"}`, 1)
				if forged == genuine {
					b.Fatalf("the record cannot be forged like this: %s", genuine)
				}
				b.annotate("one", v1alpha1.RecordAnnotation, forged)
				if deleted {
					b.delete("one")
				}
				for range 3 {
					result := b.look("one")
					b.wantCondition("one", v1alpha1.ConditionStalled, "True RecordForged")
					if result.After > time.Minute {
						b.Errorf("it is looked at again after %s", result.After)
					}
					b.advance(result.After)
				}
				b.nothingSent()
				b.wantLive(2)
				b.annotate("one", v1alpha1.RecordAnnotation, genuine)
				if deleted {
					b.follow("one", b.gone("one"))
					b.wantLive(1)
					return
				}
				b.look("one")
				b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
			})
		})
	}
}

func (b *bench) recordText(name string) string {
	b.Helper()
	return b.obj(name).GetAnnotations()[v1alpha1.RecordAnnotation]
}

// After a downgrade the record says what this operator does not know. It must not take it for one that is not there.
func TestARecordOfANewerOperatorMovesNothing(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"looked at": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachClass(t, func(b *bench, _ class) {
				b.settled("one", "{size: 4, color: blue}")
				ours := b.recordText("one")
				b.annotate("one", v1alpha1.RecordAnnotation, `{"v":99,"phase":"Created","new":"what nobody knows","key":"12345678","mac":"x"}`)
				b.setSpec("one", "size", int64(5))
				if deleted {
					b.delete("one")
				}
				b.restart()
				b.advance(time.Hour)
				b.journal.take()
				b.look("one")
				b.wantCondition("one", v1alpha1.ConditionStalled, "True RecordNewer")
				b.wantMessage("one", v1alpha1.ConditionStalled, "newer operator")
				b.nothingSent()
				b.wantLive(1)
				b.annotate("one", v1alpha1.RecordAnnotation, ours)
				if deleted {
					b.follow("one", b.gone("one"))
					b.wantLive(0)
				}
			})
		})
	}
}

func TestAForgedRecordLetsAnOrphanGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping+"  policy: {deletion: Orphan}\n", markedThings())
	b.settled("one", "{size: 3}")
	b.annotate("one", v1alpha1.RecordAnnotation, strings.Replace(b.recordText("one"), `"id":"1"`, `"id":"2"`, 1))
	b.delete("one")
	b.look("one")
	b.nothingSent()
	b.wantLive(1)
	if !b.gone("one")() {
		b.Error("it is held")
	}
}

// The Secret with the keys is gone: nothing is sent until it is back, and what is missing is named.
func TestWithoutItsKeyNothingIsDone(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.settled("one", "{size: 3}")
		keys, signed := b.keys.ring, b.record("one").Key
		b.keys.ring, b.keys.problem = nil, errors.New("it is gone")
		b.restart()
		b.setSpec("one", "size", int64(4))
		b.create("two", "{size: 3}")
		for _, name := range []string{"one", "two"} {
			b.look(name)
			b.wantCondition(name, v1alpha1.ConditionStalled, "True RecordUnverified")
			b.wantMessage(name, v1alpha1.ConditionStalled, "Secret system/the-keys", "it is gone")
		}
		b.wantMessage("one", v1alpha1.ConditionStalled, "signed with key "+signed, "restore that Secret", "--from-literal=accept="+signed)
		b.nothingSent()
		b.keys.later = keys
		for _, name := range []string{"one", "two"} {
			b.follow(name, b.is(name, v1alpha1.ConditionReady, "True Available"))
		}
		b.wantLive(2)
	})
}

func TestARecordOfALostKey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		accept  func(signed string) string
		younger bool
		want    string
	}{
		"is not believed":                     {func(string) string { return "" }, false, "False RecordUnverified"},
		"is believed when that is said":       {func(signed string) string { return signed }, false, "True Available"},
		"of another lost key is not believed": {func(string) string { return "00000000" }, false, "False RecordUnverified"},
		"of a younger custom resource is not": {func(signed string) string { return signed }, true, "False RecordUnverified"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachClass(t, func(b *bench, c class) {
				b.settled("one", "{size: 3}")
				b.edit("one", func(obj *unstructured.Unstructured) {
					made := keysSince
					if tc.younger {
						made = made.Add(time.Hour)
					}
					obj.SetCreationTimestamp(metav1.NewTime(made))
				})
				lost := b.keys.ring.Signing()
				b.keys.ring = newRing(b.T, "b", tc.accept(lost))
				b.advance(time.Hour)
				b.look("one")
				b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
				b.nothingSent()
				if tc.want != "True Available" {
					b.wantMessage("one", v1alpha1.ConditionStalled, "signed with key "+lost, "Secret system/the-keys", "entry accept")
					return
				}
				if got := b.record("one").Key; got != b.keys.ring.Signing() {
					b.Errorf("the record is signed with %s", got)
				}
				b.advance(time.Hour)
				b.look("one")
				b.happened(c.steady...)
			})
		})
	}
}

// A custom resource of the version before records were signed goes on where the keys' Secret says so, and has a signature
// after the first look.
func TestAnUnsignedRecordOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{"": "False RecordUnverified", lifecycle.AcceptUnsigned: "True Available"} {
		t.Run("accept "+accept, func(t *testing.T) {
			t.Parallel()
			eachClass(t, func(b *bench, c class) {
				b.settled("one", "{size: 3}")
				id := b.record("one").Identifiers["id"]
				b.annotate("one", v1alpha1.RecordAnnotation,
					`{"v":1,"uid":"uid-one","endpoint":"server-a","phase":"Created","attempt":"a1","at":"2026-05-01T12:01:00Z","ids":{"id":"`+id+`"}}`)
				b.keys.ring = newRing(b.T, "a", accept)
				b.advance(time.Hour)
				b.look("one")
				b.wantCondition("one", v1alpha1.ConditionReady, want)
				if want == "True Available" {
					b.happened(append([]string{"write record=Created"}, c.steady...)...)
					if got := b.record("one"); got.Key == "" || got.Of != subjectOf("one").String() || got.Identifiers["id"] != id {
						b.Errorf("the record is %+v", got)
					}
				}
			})
		})
	}
}
