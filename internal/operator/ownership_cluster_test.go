//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// TestOwnership shows that no object is made twice, taken from another, or deleted for the wrong custom resource.
func TestOwnership(t *testing.T) {
	l := lab.New(t)
	cases := map[string]func(*testing.T, *lab.Lab){
		"the base URL changed":                baseURLChanged,
		"the identity changed":                identityChanged,
		"the record stripped":                 recordStripped,
		"the record stripped, with a marker":  recordStrippedMarked,
		"the record stripped, with no safety": recordStrippedUnsafe,
		"the record forged":                   recordForged,
		"the finalizer stripped":              finalizerStripped,
		"a copy in another namespace":         copied,
		"a copy with a marker":                copiedMarked,
		"two with one identity":               oneIdentity,
		"deleted outside, then deleted":       deletedOutside,
		"an immutable field changed":          immutableChanged,
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, l.In(t))
		})
	}
}

// baseURLChanged: the object stays where it was made; the new server gets nothing.
func baseURLChanged(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	other := l.NewServer([]restfake.Collection{upsertThings})
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Endpoint(other.URL, "  timeout: 2s")
	message := p.Stalled("one", "TargetIdentityChanged")
	if !strings.Contains(message, "base URL") {
		t.Errorf("the message does not say what changed: %s", message)
	}
	if message := p.EndpointCondition("TargetIdentityChanged", "True", "TargetIdentityChanged"); !strings.Contains(message, "1 custom resource") || !strings.Contains(message, "/one") {
		t.Errorf("the endpoint does not say whose object is elsewhere: %s", message)
	}
	p.Patch("one", `{"spec":{"size":4}}`)
	p.Stalled("one", "TargetIdentityChanged")
	p.Delete("one")
	p.Stalled("one", "TargetIdentityChanged")
	if n := other.Count("", "") - other.Count("GET", ""); n != 0 || len(other.Live("")) != 0 {
		t.Errorf("the new server was written to: %v", other.Counts())
	}
	p.Endpoint(p.server.URL, "  timeout: 2s")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

func identityChanged(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, strings.Replace(upsertMapping, "self.metadata.name", "self.spec.name", 1), upsertThings)
	p.Create("one", "{name: a, size: 3}")
	p.Ready("one")
	p.Patch("one", `{"spec":{"name":"b"}}`)
	p.Stalled("one", "TargetIdentityChanged")
	if live := p.server.Live("/things"); len(live) != 1 || live[0].ID != "a" {
		t.Errorf("outside: %v", live)
	}
	p.Delete("one")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// recordForged: whoever writes another object's identity into a record moves nothing, also by deleting.
func recordForged(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("victim", "{size: 3}")
	p.Ready("victim")
	p.Create("one", "{size: 3}")
	p.Ready("one")
	genuine := p.Get("one").GetAnnotations()[record]
	p.Annotate("one", record, strings.Replace(genuine, `{"id":"one"}`, `{"id":"victim"}`, 1))
	p.Delete("one")
	p.Stalled("one", "RecordForged")
	if live := p.server.Live("/things"); len(live) != 2 {
		t.Errorf("outside: %v", live)
	}
	p.Annotate("one", record, genuine)
	p.Annotate("one", reconcile, "now")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 1 || live[0].ID != "victim" {
		t.Errorf("outside: %v", live)
	}
}

// recordStripped: without the proof nothing is touched; with it back all goes on.
func recordStripped(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	kept := p.Get("one").GetAnnotations()[record]
	writes := p.writes()
	p.Annotate("one", record, "")
	message := p.Stalled("one", "RecordLost")
	if !strings.Contains(message, "restore the annotation") {
		t.Errorf("the message has no remedy: %s", message)
	}
	p.looks(2)
	if p.writes() != writes {
		t.Errorf("something was sent: %v", p.server.Counts())
	}
	p.Annotate("one", record, kept)
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// recordStrippedMarked: the marker proves which object is ours, so it is found again.
func recordStrippedMarked(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, markerMapping, markedThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Annotate("one", record, "")
	l.Eventually("the record is back", func() string {
		if p.Get("one").GetAnnotations()[record] == "" {
			return p.Status("one")
		}
		return ""
	})
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 || p.server.Count("POST", "") != 1 {
		t.Errorf("outside: %v, requests %v", live, p.server.Counts())
	}
}

// recordStrippedUnsafe: nothing can find the object, so a person is asked and nothing is made again.
func recordStrippedUnsafe(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, noneMapping, restfake.Collection{Path: "/things"})
	p.Create("one", "{size: 3}")
	p.Ready("one")
	kept := p.Get("one").GetAnnotations()[record]
	p.Annotate("one", record, "")
	p.Stalled("one", "RecordLost")
	if live := p.server.Live("/things"); len(live) != 1 || p.server.Count("POST", "") != 1 {
		t.Errorf("outside: %v, requests %v", live, p.server.Counts())
	}
	p.Annotate("one", record, kept)
	p.Ready("one")
}

// finalizerStripped: it is set again before anything else happens.
func finalizerStripped(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Patch("one", `{"metadata":{"finalizers":null}}`)
	l.Eventually("the finalizer is back", func() string {
		if got := p.Get("one").GetFinalizers(); len(got) != 1 {
			return fmt.Sprint(got)
		}
		return ""
	})
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// copied: a copy with all its annotations owns nothing; deleting it deletes nothing outside.
func copied(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	elsewhere := l.NewKind("")
	copied := p.CopyTo("one", elsewhere.Namespace, "one")
	copied.Endpoint(p.server.URL, "  timeout: 2s")
	message := copied.Stalled("one", "IdentityConflict")
	if !strings.Contains(message, p.Namespace+"/one") {
		t.Errorf("the message does not name the owner: %s", message)
	}
	copied.Delete("one")
	copied.Gone("one")
	if p.size("/things/one") != 3 || p.server.Count("DELETE", "") != 0 {
		t.Errorf("the original's object was deleted: %v", p.server.Counts())
	}
	p.looks(1)
	p.Ready("one")
	if n := p.server.Count("PUT", ""); n != 1 {
		t.Errorf("%d PUTs, want 1", n)
	}
}

// copiedMarked: a copy makes an object of its own, and the original's stays.
func copiedMarked(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, markerMapping, markedThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	copied := p.CopyTo("one", p.Namespace, "two")
	copied.Ready("two")
	if live := p.server.Live("/things"); len(live) != 2 {
		t.Errorf("outside: %v", live)
	}
	copied.Delete("two")
	copied.Gone("two")
	p.looks(2)
	p.Ready("one")
	if live := p.server.Live("/things"); len(live) != 1 || len(p.server.Duplicates()) != 0 {
		t.Errorf("outside: %v, doubled %v", live, p.server.Duplicates())
	}
}

// oneIdentity: the second is told who has it, and takes over when the first is gone.
func oneIdentity(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, strings.Replace(upsertMapping, "self.metadata.name", "self.spec.name", 1), upsertThings)
	p.Create("one", "{name: same, size: 3}")
	p.Ready("one")
	p.Create("two", "{name: same, size: 4}")
	message := p.Stalled("two", "IdentityConflict")
	if !strings.Contains(message, p.Namespace+"/one") {
		t.Errorf("the message does not name the other: %s", message)
	}
	p.looks(2)
	if p.size("/things/same") != 3 {
		t.Error("the second acted")
	}
	p.Delete("one")
	p.Gone("one")
	p.Ready("two")
	if p.size("/things/same") != 4 {
		t.Errorf("size is %d", p.size("/things/same"))
	}
}

func deletedOutside(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, strings.Replace(upsertMapping, "interval: 2s", "interval: 10m", 1), upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	if err := p.server.Remove("/things/one"); err != nil {
		t.Fatal(err)
	}
	p.Delete("one")
	p.Gone("one")
	if n := p.server.Count("PUT", ""); n != 1 {
		t.Errorf("%d PUTs, want 1", n)
	}
}

// immutableChanged: a field that is only sent on create cannot be changed; putting it back is enough.
func immutableChanged(t *testing.T, l *lab.Lab) {
	t.Helper()
	mapping := strings.Replace(upsertMapping, "{from: spec.color, to: color}", "{from: spec.color, to: color, operations: [Create]}", 1)
	p := newPart(l, mapping, upsertThings)
	p.Create("one", "{size: 3, color: red}")
	p.Ready("one")
	p.Patch("one", `{"spec":{"color":"blue"}}`)
	message := p.Stalled("one", "ImmutableFieldChanged")
	if !strings.Contains(message, "color") {
		t.Errorf("the message does not name the field: %s", message)
	}
	p.Patch("one", `{"spec":{"color":"red"}}`)
	p.Ready("one")
	if n := p.server.Count("PUT", ""); n != 1 {
		t.Errorf("%d PUTs, want 1", n)
	}
}
