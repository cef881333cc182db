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

// TestKindWithoutRights: it says the exact rule, its neighbour is served meanwhile, and it starts when the rule is granted.
func TestKindWithoutRights(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings, {Path: "/others", IDs: restfake.Chosen, Upsert: true}})
	denied, neighbour := l.NewUngrantedKind(""), l.NewKind("")
	denied.Endpoint(server.URL, "  timeout: 2s")
	denied.Mapping(upsertMapping)
	denied.Create("one", "{size: 3}")
	message := denied.MappingCondition("Ready", "False", "RBACMissing")
	for _, want := range []string{
		"list " + denied.GVR.Resource, "watch " + denied.GVR.Resource, "patch " + denied.GVR.Resource + "/status",
		fmt.Sprintf(`{apiGroups: ["%s"], resources: ["%s", "%s/status"], verbs: ["get", "list", "watch", "patch", "update"]}`, denied.Group, denied.GVR.Resource, denied.GVR.Resource),
		"restmapping.dev/aggregate-to-operator",
	} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	denied.MappingCondition("Watching", "False", "RBACMissing")

	neighbour.Endpoint(server.URL, "  timeout: 2s")
	started := time.Now()
	neighbour.Mapping(strings.ReplaceAll(upsertMapping, "/things", "/others"))
	neighbour.Create("one", "{size: 3}")
	neighbour.Ready("one")
	t.Logf("the neighbour was ready after %s", time.Since(started).Round(time.Millisecond))

	denied.Grant()
	granted := time.Now()
	denied.Ready("one")
	t.Logf("served %s after the rights were granted", time.Since(granted).Round(time.Millisecond))
	denied.MappingCondition("Ready", "True", "Serving")
}

// TestRightsTakenAwayWhileRunning: the mapping says so, and goes on when they are back; the object outside stays as it is.
func TestRightsTakenAwayWhileRunning(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3}")
	kind.Ready("one")
	kind.Ungrant()
	kind.Patch("one", `{"spec":{"size":4}}`)
	message := kind.MappingCondition("Ready", "False", "RBACMissing")
	if !strings.Contains(message, "patch "+kind.GVR.Resource) {
		t.Errorf("the message does not name the right: %s", message)
	}
	kind.Create("two", "{size: 5}")
	kind.Grant()
	kind.Ready("one", "two")
	kind.MappingCondition("Ready", "True", "Serving")
	if live := server.Live("/things"); len(live) != 2 {
		t.Errorf("outside: %v", live)
	}
	t.Log(message)
}

// TestHungServerDoesNotSlowItsNeighbour: all workers of one mapping wait for a server that never answers; another
// mapping's custom resources are ready meanwhile, a third is started, and one is removed.
func TestHungServerDoesNotSlowItsNeighbour(t *testing.T) {
	l := lab.New(t)
	hung := l.NewServer([]restfake.Collection{upsertThings})
	hung.AddRule(restfake.Rule{Fault: restfake.Hang()})
	good := l.NewServer([]restfake.Collection{upsertThings})
	stuck, neighbour := l.NewKind(""), l.NewKind("")
	stuck.Endpoint(hung.URL, "  timeout: 2m")
	stuck.Mapping(upsertMapping)
	const objects = 12
	for i := range objects {
		stuck.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	l.Eventually("all workers hang", func() string {
		if n := hung.Count("GET", ""); n < 4 {
			return fmt.Sprint(n, " requests")
		}
		return ""
	})
	neighbour.Endpoint(good.URL, "  timeout: 2s")
	started := time.Now()
	neighbour.Mapping(upsertMapping)
	for i := range objects {
		neighbour.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	for i := range objects {
		neighbour.Ready(fmt.Sprintf("n%d", i))
	}
	t.Logf("%d objects of the neighbour were ready after %s", objects, time.Since(started).Round(time.Millisecond))
	if n := hung.Count("GET", ""); n != 4 {
		t.Errorf("the stuck mapping has sent %d requests; it was to hang all the while", n)
	}

	// The stuck mapping is stopped, which waits for its passes; a third mapping starts meanwhile.
	stuck.DeleteMapping()
	third := l.NewKind("")
	third.Endpoint(good.URL, "  timeout: 2s")
	third.Mapping(strings.Replace(upsertMapping, "value: self.metadata.name", `value: "'third-' + self.metadata.name"`, 1))
	third.Create("one", "{size: 3}")
	third.Ready("one")
	if stuck.MappingObject() == nil {
		t.Error("the stuck mapping has gone already; nothing was shown")
	}
	stuck.MappingGone()
}
