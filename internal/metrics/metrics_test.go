package metrics_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/internal/metrics"
	"github.com/restmapping/operator/internal/repository"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// series lists all series of ours, as "name{label=value,...} value".
func (b *bench) series(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, family := range b.families(t) {
		if family.GetName() == "restmapping_secret_reads_total" {
			continue // of the process, not of a mapping or an endpoint
		}
		for _, metric := range family.GetMetric() {
			labels := make([]string, 0, len(metric.GetLabel()))
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			name := strings.TrimPrefix(family.GetName(), "restmapping_")
			lines = append(lines, fmt.Sprintf("%s{%s} %v", name, strings.Join(labels, ","), valueOf(metric)))
		}
	}
	return lines
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	default:
		return float64(m.GetHistogram().GetSampleCount())
	}
}

func TestAMappingsSeriesBeginWithZeroAndGoWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := b.series(t); len(got) != 0 {
		t.Errorf("series before anything runs: %q", got)
	}
	b.run(t)
	want := []string{
		"cache_bytes{mapping=things} 0", "drift_corrected_total{mapping=things} 0", "drift_found_total{mapping=things} 0",
		"expression_cost_total{mapping=things} 0", "expression_errors_total{mapping=things} 0", "informers{mapping=things} 1",
		"objects{mapping=things,state=ready} 0", "objects{mapping=things,state=stalled} 0", "objects{mapping=things,state=total} 0",
		"passes_total{end=Finish,mapping=things} 0", "passes_total{end=Retry,mapping=things} 0",
		"passes_total{end=Stall,mapping=things} 0", "passes_total{end=Wait,mapping=things} 0",
		"queue_ready{mapping=things} 0", "queue_running{mapping=things} 0", "watch_synced{mapping=things} 1",
	}
	eventually(t, "the watch is in sync", func() bool { return slices.Contains(b.series(t), "watch_synced{mapping=things} 1") })
	eventually(t, "the counters are there", func() bool { return slices.Contains(b.series(t), "drift_found_total{mapping=things} 0") })
	if diff := cmp.Diff(want, b.series(t)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if err := b.engine.Remove("things"); err != nil {
		t.Fatal(err)
	}
	if got := b.series(t); len(got) != 0 {
		t.Errorf("series that stay: %q", got)
	}
}

func TestPassesAreCountedByTheirEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := types.NamespacedName{Namespace: "team", Name: "one"}
	b.meter.Pass("m", pass.Summary{Key: key, End: "Finish", Duration: time.Second})
	b.meter.Pass("m", pass.Summary{Key: key, End: "Finish", Drifted: true, Corrected: true, Cost: 100, ReadyAfter: time.Minute})
	b.meter.Pass("m", pass.Summary{Key: key, End: "Stall", Cost: 20, ExpressionErrors: 2})
	b.meter.Pass("m", pass.Summary{Key: key, Gone: true})
	want := []string{
		"drift_corrected_total{mapping=m} 1", "drift_found_total{mapping=m} 1", "expression_cost_total{mapping=m} 120", "expression_errors_total{mapping=m} 2",
		"pass_duration_seconds{mapping=m} 3", "passes_total{end=Finish,mapping=m} 2", "passes_total{end=Stall,mapping=m} 1",
		"ready_duration_seconds{mapping=m} 1",
	}
	if diff := cmp.Diff(want, b.series(t)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestRequestsAreCountedByTheirClass(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		observation httpapi.Observation
		class       string
	}{
		"a success":                 {httpapi.Observation{Status: 201}, "2xx"},
		"a refusal":                 {httpapi.Observation{Status: 404}, "4xx"},
		"a failure of the server":   {httpapi.Observation{Status: 503}, "5xx"},
		"no answer":                 {httpapi.Observation{Failure: rest.TimedOut}, "failed"},
		"an answer of no use":       {httpapi.Observation{Status: 200, Failure: rest.Undecodable}, "failed"},
		"neither answer nor reason": {httpapi.Observation{}, "failed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tc.observation.Operation, tc.observation.Duration, tc.observation.Waited = rest.Create, 5*time.Second, 2*time.Second
			b.meter.SetClock(func() time.Time { return time.Unix(1800000000, 0) })
			b.meter.Request("RestEndpoint team/main", tc.observation)
			want := []string{
				"http_request_duration_seconds{endpoint=RestEndpoint team/main,operation=Create} 1",
				"http_requests_total{class=" + tc.class + ",endpoint=RestEndpoint team/main,operation=Create} 1",
				"http_throttled_seconds_total{endpoint=RestEndpoint team/main} 2",
			}
			if tc.class == "2xx" {
				want = append([]string{"endpoint_last_success_timestamp_seconds{endpoint=RestEndpoint team/main} 1.8e+09"}, want...)
			}
			if diff := cmp.Diff(want, b.series(t)); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			for _, family := range b.families(t) {
				if h := family.GetMetric()[0].GetHistogram(); h != nil && h.GetSampleSum() != 3 {
					t.Errorf("a request that waited counts %v seconds, want 3", h.GetSampleSum())
				}
			}
		})
	}
}

// However many custom resources there are, there are no more series, and none names one of them.
func TestNoCustomResourceIsALabel(t *testing.T) {
	t.Parallel()
	b := newBench(t, "resource-alpha", "resource-beta", "resource-gamma")
	b.run(t)
	eventually(t, "each was looked at", func() bool {
		return slices.Contains(b.series(t), "objects{mapping=things,state=total} 3") && strings.Contains(strings.Join(b.series(t), "\n"), "pass_duration_seconds")
	})
	text := strings.Join(b.series(t), "\n")
	for _, name := range []string{"resource-", "team", "uid"} {
		if strings.Contains(text, name) {
			t.Errorf("the series hold %q:\n%s", name, text)
		}
	}
	if got := len(b.series(t)); got != 17 {
		t.Errorf("%d series, want those of one mapping:\n%s", got, text)
	}
}

func TestClosingTakesEverythingOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.meter.Pass("m", pass.Summary{End: "Finish"})
	b.meter.Close()
	if got := b.series(t); len(got) != 0 {
		t.Errorf("series that stay: %q", got)
	}
	metrics.New(b.registry) // and can be put in again
}

func TestNamesAndHelpAreAsPrometheusWantsThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one")
	b.run(t)
	b.withAll(t)
	eventually(t, "a pass was counted", func() bool { return strings.Contains(strings.Join(b.series(t), "\n"), "pass_duration_seconds") })
	problems, err := testutil.GatherAndLint(b.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// description is a metric's name, type and labels.
type description struct{ name, kind, labels string }

var descText = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// described lists what the collectors say of themselves.
func (b *bench) described(t *testing.T) []description {
	t.Helper()
	kinds := map[string]string{}
	for _, family := range b.families(t) {
		kinds[family.GetName()] = strings.ToLower(family.GetType().String())
	}
	var found []description
	for _, collector := range b.registry.collectors {
		descs := make(chan *prometheus.Desc, 32)
		collector.Describe(descs)
		close(descs)
		for desc := range descs {
			parts := descText.FindStringSubmatch(desc.String())
			if parts == nil {
				t.Fatalf("not understood: %s", desc)
			}
			found = append(found, description{parts[1], kinds[parts[1]], parts[2]})
		}
	}
	return found
}

var row = regexp.MustCompile("^\\| `(restmapping_[a-z_]+)` \\| ([a-z]+) \\| ([^|]+) \\| [^|]{10,} \\|$")

func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one")
	b.run(t)
	b.withAll(t)
	eventually(t, "a pass was counted", func() bool { return strings.Contains(strings.Join(b.series(t), "\n"), "pass_duration_seconds") })
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []description
	for line := range bytes.Lines(content) {
		if parts := row.FindStringSubmatch(strings.TrimSpace(string(line))); parts != nil {
			labels := strings.TrimPrefix(strings.ReplaceAll(strings.ReplaceAll(parts[3], "`", ""), ", ", ","), "none")
			documented = append(documented, description{parts[1], parts[2], labels})
		}
	}
	byName := func(a, b description) int { return strings.Compare(a.name, b.name) }
	existing := b.described(t)
	slices.SortFunc(existing, byName)
	slices.SortFunc(documented, byName)
	if diff := cmp.Diff(existing, documented, cmp.AllowUnexported(description{})); diff != "" {
		t.Errorf("docs/metrics.md (-what there is +what it says):\n%s", diff)
	}
}
