package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func TestDispatcher(t *testing.T) {
	t.Parallel()
	one := compacted(t, widgetWith(map[string]any{"uid": "u", "resourceVersion": "1", "namespace": "blue"}))
	same := compacted(t, widgetWith(map[string]any{"uid": "u", "resourceVersion": "1", "namespace": "blue"}))
	two := compacted(t, widgetWith(map[string]any{"uid": "u", "resourceVersion": "2", "namespace": "blue"}))
	successor := compacted(t, widgetWith(map[string]any{"uid": "v", "resourceVersion": "3", "namespace": "blue"}))
	defaulted := compacted(t, widgetWith(map[string]any{"uid": "u", "resourceVersion": "1", "namespace": "blue", "labels": map[string]any{"a": "b"}}))

	type short struct {
		Type                      EventType
		Initial, Resync, Replaced bool
		UID                       types.UID
	}
	cases := map[string]struct {
		deliver func(dispatcher)
		want    []short
	}{
		"an added object":             {func(d dispatcher) { d.OnAdd(one, false) }, []short{{Type: Added, UID: "u"}}},
		"an object that was there":    {func(d dispatcher) { d.OnAdd(one, true) }, []short{{Type: Added, Initial: true, UID: "u"}}},
		"a change":                    {func(d dispatcher) { d.OnUpdate(one, two) }, []short{{Type: Updated, UID: "u"}}},
		"an update without a change":  {func(d dispatcher) { d.OnUpdate(one, same) }, []short{{Type: Updated, Resync: true, UID: "u"}}},
		"a new default in the schema": {func(d dispatcher) { d.OnUpdate(one, defaulted) }, []short{{Type: Updated, UID: "u"}}},
		"an object replaced unseen":   {func(d dispatcher) { d.OnUpdate(one, successor) }, []short{{Type: Updated, Replaced: true, UID: "v"}}},
		"a deletion":                  {func(d dispatcher) { d.OnDelete(two) }, []short{{Type: Deleted, UID: "u"}}},
		"a deletion that was missed": {
			func(d dispatcher) { d.OnDelete(cache.DeletedFinalStateUnknown{Key: "blue/a", Obj: two}) },
			[]short{{Type: Deleted, UID: "u"}},
		},
		"a missed deletion without a state": {
			func(d dispatcher) { d.OnDelete(cache.DeletedFinalStateUnknown{Key: "blue/a"}) },
			[]short{{Type: Deleted}},
		},
		"what is no object": {func(d dispatcher) { d.OnAdd("x", false); d.OnUpdate("x", one); d.OnUpdate(one, "x"); d.OnDelete("x") }, nil},
		"a tombstone without a usable key": {
			func(d dispatcher) { d.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/b/c"}) }, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []short
			tc.deliver(func(e Event) {
				got = append(got, short{e.Type, e.Initial, e.Resync, e.Replaced(), e.Object.UID})
				if want := (types.NamespacedName{Namespace: "blue", Name: "a"}); e.Name() != want {
					t.Errorf("name: got %v, want %v", e.Name(), want)
				}
			})
			if len(got) != len(tc.want) || len(got) == 1 && got[0] != tc.want[0] {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestTheObjectOfABareTombstoneCanBeRead(t *testing.T) {
	t.Parallel()
	var got *Object
	dispatcher(func(e Event) { got = e.Object }).OnDelete(cache.DeletedFinalStateUnknown{Key: "blue/a"})
	if content, err := got.Unstructured(); err != nil || len(content) != 0 {
		t.Errorf("got %v, %v; want an empty object", content, err)
	}
	if kind := got.GroupVersionKind(); !kind.Empty() {
		t.Errorf("kind: got %v, want none", kind)
	}
}
