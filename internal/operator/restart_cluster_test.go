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
