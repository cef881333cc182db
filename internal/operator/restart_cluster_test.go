//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// TestRestart: nothing is sent again, and nothing is written, because the operator was restarted; what changed meanwhile
// is dealt with.
func TestRestart(t *testing.T) {
	l := lab.New(t)
	const objects = 20
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	for i := range objects {
		kind.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	for i := range objects {
		kind.Ready(fmt.Sprintf("n%d", i))
	}
	l.Stop()
	server.Forget()
	before := l.Counters()
	l.Start()
	l.Eventually("every object was looked at twice", func() string {
		if n := server.Count("GET", ""); n < 2*objects {
			return fmt.Sprint(n)
		}
		return ""
	})
	if n := server.Count("", "") - server.Count("GET", ""); n != 0 {
		t.Errorf("something was sent again: %v", server.Counts())
	}
	if n := l.Counters().Since(before).Writes(kind.Group, kind.GVR.Resource); n != 0 {
		t.Errorf("%d writes because of a restart", n)
	}
	l.Stop()
	kind.Create("late", "{size: 5}")
	kind.Delete("n0")
	kind.Patch("n1", `{"spec":{"size":6}}`)
	if err := server.Remove("/things/n2"); err != nil {
		t.Fatal(err)
	}
	l.Start()
	kind.Ready("late", "n1")
	kind.Gone("n0")
	l.Eventually("what was removed meanwhile is back", func() string {
		if _, ok := server.Get("/things/n2"); !ok {
			return kind.Status("n2")
		}
		return ""
	})
	if live := server.Live("/things"); len(live) != objects {
		t.Errorf("%d objects outside, want %d", len(live), objects)
	}
	kind.Ready("n2")
	kind.CheckAll()
}

// TestABadEditOutlivesARestart: a mapping that was edited so that it does not compile is served as it was before, also by a
// process that never saw it so: what changes outside is put back, and a custom resource can still go.
func TestABadEditOutlivesARestart(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	for _, name := range []string{"one", "two"} {
		kind.Create(name, "{size: 3}")
		kind.Ready(name)
	}
	l.Stop()
	l.Apply("%s", kind.MappingYAML(kind.GVR.Resource, "", serverEndpoint, strings.Replace(upsertMapping, "from: spec.size", "from: spec.siz", 1)))
	if err := server.Change("/things/one", func(fields map[string]any) { fields["size"] = 9.0 }); err != nil {
		t.Fatal(err)
	}
	l.Start()
	message := kind.MappingCondition("Ready", "False", "ServingPrevious")
	if !strings.Contains(message, "generation 1 goes on serving") || !strings.Contains(message, "spec.fields[0].from") {
		t.Errorf("the condition says: %s", message)
	}
	l.Eventually("what was changed outside is put back", func() string {
		if object, ok := server.Get("/things/one"); !ok || fmt.Sprint(object.Fields["size"]) != "3" {
			return fmt.Sprint(object)
		}
		return ""
	})
	kind.Delete("two")
	kind.Gone("two")
	if live := server.Live("/things"); len(live) != 1 {
		t.Errorf("outside are %v", live)
	}
	l.Apply("%s", kind.MappingYAML(kind.GVR.Resource, "", serverEndpoint, upsertMapping))
	kind.MappingCondition("Ready", "True", "Serving")
	kind.CheckAll()
}

// TestAnEditOfManyObjectsWaits: what an edit of a mapping would do to many objects is found out by looking alone, and held until
// a person has said that it is meant; also over a restart, with the former generation putting back what changes outside.
func TestAnEditOfManyObjectsWaits(t *testing.T) {
	l := lab.New(t)
	const objects = 12
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	for i := range objects {
		kind.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	for i := range objects {
		kind.Ready(fmt.Sprintf("n%d", i))
	}
	edit := func(from, to string) {
		body := strings.Replace(upsertMapping, from, to, 1)
		if body == upsertMapping {
			t.Fatalf("%s does not stand in the mapping", from)
		}
		l.Apply("%s", kind.MappingYAML(kind.GVR.Resource, "", serverEndpoint, body))
	}
	writes := func() int { return server.Count("", "") - server.Count("GET", "") }
	server.Forget()
	edit("{from: spec.size, to: size}", "{value: self.spec.size + 1, to: size}")
	held := func(says ...string) {
		l.Eventually("the edit is held", func() string {
			message := kind.MappingCondition("Stalled", "True", "ChangeHeld")
			for _, part := range says {
				if !strings.Contains(message, part) {
					return fmt.Sprintf("%q is missing in: %s", part, message)
				}
			}
			return ""
		})
	}
	held("generation 2 would change 12 of 12 objects", "12 Update", "fields size", "acknowledge-change=2", "generation 1 goes on serving")
	if n := writes(); n != 0 {
		t.Errorf("%d requests that change something: %v", n, server.Counts())
	}
	l.Stop()
	if err := server.Change("/things/n0", func(fields map[string]any) { fields["size"] = 9.0 }); err != nil {
		t.Fatal(err)
	}
	server.Forget()
	l.Start()
	l.Eventually("what was changed outside is put back as the former generation says", func() string {
		if object, ok := server.Get("/things/n0"); !ok || fmt.Sprint(object.Fields["size"]) != "3" {
			return fmt.Sprint(object)
		}
		return ""
	})
	kind.MappingCondition("Ready", "False", "ChangeHeld")
	if n := writes(); n != 1 {
		t.Errorf("%d requests that change something: %v", n, server.Counts())
	}
	edit(`delete: {path: "/things/{id}"}`, `delete: {path: "/things/{id}/all"}`) // a further edit is judged anew
	held("12 OtherObject", "acknowledge-change=3")
	edit("{from: spec.size, to: size}", "{value: self.spec.size + 2, to: size}")
	held("12 Update", "acknowledge-change=4")
	part{kind, l, server}.annotateMapping(t, "restmapping.dev/acknowledge-change", "4")
	kind.MappingCondition("Ready", "True", "Serving")
	l.Eventually("all is as the last edit says", func() string {
		for i := range objects {
			if object, _ := server.Get(fmt.Sprintf("/things/n%d", i)); fmt.Sprint(object.Fields["size"]) != "5" {
				return fmt.Sprint(object)
			}
		}
		return ""
	})
	kind.CheckAll()
}

// TestStopLetsACreateEnd: a create that is under way when the operator is told to stop is finished and recorded, for each
// class of create safety; after the restart nothing is doubled.
func TestStopLetsACreateEnd(t *testing.T) {
	cases := map[string]struct {
		mapping    string
		collection restfake.Collection
		method     string
	}{
		"upsert":     {upsertMapping, upsertThings, "PUT"},
		"unique key": {uniqueMapping, uniqueThings, "POST"},
		"marker":     {markerMapping, markedThings, "POST"},
		"no safety":  {noneMapping, restfake.Collection{Path: "/things"}, "POST"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lab.New(t)
			server := l.NewServer([]restfake.Collection{tc.collection})
			server.AddRule(restfake.Rule{Method: tc.method, Fault: restfake.Delay(2 * time.Second)})
			kind := l.NewKind("")
			kind.Endpoint(server.URL, "  timeout: 20s")
			kind.Mapping(tc.mapping)
			kind.Create("one", "{size: 3}")
			l.Eventually("the create is under way", func() string {
				if server.Count(tc.method, "") == 0 {
					return "not yet"
				}
				return ""
			})
			l.Stop()
			if live := server.Live("/things"); len(live) != 1 {
				t.Fatalf("the create was cut off: %v", live)
			}
			if kind.Get("one").GetAnnotations()[record] == "" {
				t.Error("the create was not recorded")
			}
			kind.Ready("one") // the operator is not running: it said so before it ended
			l.Start()
			server.Forget()
			l.Eventually("it is looked at again", func() string {
				if server.Count("GET", "") < 2 {
					return fmt.Sprint(server.Counts())
				}
				return ""
			})
			kind.Ready("one")
			if live := server.Live("/things"); len(live) != 1 || server.Count(tc.method, "") != 0 {
				t.Errorf("outside: %v; requests %v", live, server.Counts())
			}
		})
	}
}
