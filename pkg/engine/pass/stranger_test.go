package pass_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/rest"
)

// taken lets somebody else take the key while the create is under way, and the operator end before it hears of it.
func (b *bench) taken(fields map[string]any) {
	b.Helper()
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation != rest.Create {
			return nil
		}
		b.server.instead = func(rest.Request) *rest.Exchange { return nil }
		if _, err := b.server.Insert("/things", fields); err != nil {
			b.Fatal(err)
		}
		return &rest.Exchange{Failure: &rest.Failure{Kind: rest.Broken, Message: "the connection broke"}}
	}
	b.look("one")
	b.restart()
	b.advance(settleTime)
}

func TestAKeyThatSomebodyElseTookMeanwhileIsTheirs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		deleted, gone bool
		answer        func(attempt string) string
		// ready and size are what comes of it, when it is not deleted.
		ready, size string
		live        int
	}{
		"it is left alone":             {ready: "False NotAdoptable", size: "9", live: 1},
		"also by a deletion":           {deleted: true, size: "9", live: 1},
		"until a person says whose":    {deleted: true, gone: true, answer: func(a string) string { return "absent@" + a }, size: "9", live: 1},
		"a person may take it over":    {answer: func(a string) string { return "adopt=one@" + a }, ready: "True Available", size: "3", live: 1},
		"and not by another name":      {answer: func(a string) string { return "adopt=two@" + a }, ready: "False NotAdoptable", size: "9", live: 1},
		"not for another attempt":      {answer: func(string) string { return "adopt=one@00" }, ready: "False NotAdoptable", size: "9", live: 1},
		"what was taken over is ours":  {deleted: true, gone: true, answer: func(a string) string { return "adopt=one@" + a }, live: 0},
		"that it is not ours is final": {answer: func(a string) string { return "absent@" + a }, ready: "False NotAdoptable", size: "9", live: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, uniqueMapping, uniqueThings())
			b.create("one", "{size: 3}")
			b.taken(map[string]any{"id": "one", "size": 9})
			attempt := b.record("one").Attempt
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, "Unknown WaitingForSettle") // an earlier create may still come
			b.advance(settleTime)
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionStalled, "True NotAdoptable")
			b.wantMessage("one", v1alpha1.ConditionStalled, "fields: size", v1alpha1.ResolveAnnotation+"=absent@"+attempt, "adopt=<id>@"+attempt)
			if tc.answer != nil {
				b.annotate("one", v1alpha1.ResolveAnnotation, tc.answer(attempt))
			}
			if tc.deleted {
				b.delete("one")
			}
			for range 6 {
				b.look("one")
				b.advance(settleTime)
			}
			if got := b.gone("one")(); got != tc.gone {
				b.Fatalf("let go: %t", got)
			}
			b.wantLive(tc.live)
			if tc.live > 0 && fmt.Sprint(b.server.Live("/things")[0].Fields["size"]) != tc.size {
				b.Errorf("outside: %v", b.server.Live("/things"))
			}
			if !tc.deleted {
				b.wantCondition("one", v1alpha1.ConditionReady, tc.ready)
			}
		})
	}
}

// Where the status has no room for the identifiers, the record says that the object is ours, at the price of one write.
func TestWithoutAStatusTheRecordTellsWhoseTheObjectIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, uniqueMapping, uniqueThings())
	b.program = compileWith(t, uniqueMapping, strings.Replace(thingSchema, "      identifiers: {type: object, additionalProperties: {type: string}}\n", "", 1))
	b.restart()
	b.advance(settleTime)
	b.settled("one", "{size: 3}")
	if !b.record("one").Seen {
		b.Errorf("the record is %+v", b.record("one"))
	}
	b.restart()
	b.advance(settleTime)
	b.setSpec("one", "size", int64(4))
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
}

// A listing may leave an object out once, when pages move while they are read. A create is only taken for undone when two
// do not show it, both from after the time in which it could still be done.
func TestOneListingWithoutItIsNoProof(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping, markedThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	b.look("one")
	b.advance(settleTime)
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation != rest.List {
			return nil
		}
		b.server.instead = func(rest.Request) *rest.Exchange { return nil }
		return &rest.Exchange{Response: &rest.Response{Status: http.StatusOK, Body: []any{}}}
	}
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "Unknown WaitingForAbsence")
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.wantLive(1)
}
