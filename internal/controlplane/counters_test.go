package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const metrics = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="a.b",resource="things",scope="resource",subresource="",verb="GET",version="v1"} 3
apiserver_request_total{code="404",component="apiserver",dry_run="",group="a.b",resource="things",scope="resource",subresource="",verb="GET",version="v1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="a.b",resource="things",scope="cluster",subresource="",verb="LIST",version="v1"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="a.b",resource="things",scope="cluster",subresource="",verb="WATCH",version="v1"} 9
apiserver_request_total{code="200",component="apiserver",dry_run="",group="a.b",resource="things",scope="resource",subresource="status",verb="APPLY",version="v1"} 4
apiserver_request_total{code="201",component="apiserver",dry_run="",group="a.b",resource="others",scope="resource",subresource="",verb="POST",version="v1"} 7
`

func TestCounters(t *testing.T) {
	t.Parallel()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(metrics))
	if err != nil {
		t.Fatal(err)
	}
	counters := count(families["apiserver_request_total"])
	want := Counters{
		{Verb: "GET", Group: "a.b", Resource: "things"}:                          5,
		{Verb: "LIST", Group: "a.b", Resource: "things"}:                         1,
		{Verb: "WATCH", Group: "a.b", Resource: "things"}:                        9,
		{Verb: "APPLY", Group: "a.b", Resource: "things", Subresource: "status"}: 4,
		{Verb: "POST", Group: "a.b", Resource: "others"}:                         7,
	}
	if diff := cmp.Diff(want, counters); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if reads := counters.Reads("a.b", "things"); reads != 6 {
		t.Errorf("a watch is no read, and codes add up: want 6, got %d", reads)
	}
	if writes := counters.Writes("a.b", "things"); writes != 4 {
		t.Errorf("writes include those of the status: want 4, got %d", writes)
	}
	if reads := counters.Reads("", "things"); reads != 0 {
		t.Errorf("another group's resource was counted: %d", reads)
	}
}

func TestCountersSince(t *testing.T) {
	t.Parallel()
	get, put := Call{Verb: "GET", Resource: "a"}, Call{Verb: "PUT", Resource: "a"}
	got := Counters{get: 5, put: 2}.Since(Counters{get: 5, put: 1})
	if diff := cmp.Diff(Counters{put: 1}, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestCountOfAMetricThatIsNotThere(t *testing.T) {
	t.Parallel()
	if got := count(nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
