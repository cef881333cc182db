//go:build cluster

package operator_test

import (
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// TestKindsThatComeAndGo: mappings added, used, changed and removed 200 times leave nothing behind.
func TestKindsThatComeAndGo(t *testing.T) {
	const rounds, kinds = 200, 4
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	made := make([]*lab.Kind, kinds)
	for i := range made {
		made[i] = l.NewKind("")
		made[i].Endpoint(server.URL, "  timeout: 2s")
	}
	body := strings.Replace(upsertMapping, "self.metadata.name", "self.metadata.namespace + '-' + self.metadata.name", 1)
	round := func(i int) {
		kind := made[i%kinds]
		name := fmt.Sprintf("n%d", i)
		kind.Mapping(body)
		kind.Create(name, "{size: 3}")
		kind.Ready(name)
		kind.Mapping(strings.Replace(body, "{from: spec.color, to: color}", fmt.Sprintf("{value: \"'color-%d'\", to: color}", i), 1))
		l.Eventually("the changed mapping is served", func() string {
			got, _ := server.Get("/things/" + kind.Namespace + "-" + name)
			if got.Fields["color"] != fmt.Sprintf("color-%d", i) {
				return fmt.Sprint(got.Fields)
			}
			return ""
		})
		kind.Delete(name)
		kind.Gone(name)
		kind.DeleteMapping()
		kind.MappingGone()
	}
	for i := range kinds { // what is made once, such as connections, is made now
		round(i)
	}
	before := runtime.NumGoroutine()
	for i := kinds; i < rounds+kinds; i++ {
		round(i)
	}
	// A few connections and timers come and go; a goroutine left behind by each round would be 200.
	const slack = 10
	after := 0
	l.Eventually("the goroutines are as many as before", func() string {
		if after = runtime.NumGoroutine(); after > before+slack {
			return fmt.Sprintf("%d, %d before\n%s", after, before, goroutines())
		}
		return ""
	})
	if live := server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
	if left := seriesOf(t, made); len(left) > 0 {
		t.Errorf("series of mappings that are gone: %v", left)
	}
	t.Logf("%d rounds over %d kinds: %d goroutines before, %d after; requests %v", rounds, kinds, before, after, server.Counts())
}

func goroutines() string {
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return err.Error()
	}
	return text.String()
}

// seriesOf lists the metrics that still carry the name of a mapping.
func seriesOf(t *testing.T, kinds []*lab.Kind) []string {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				for _, kind := range kinds {
					if label.GetName() == "mapping" && label.GetValue() == kind.GVR.Resource {
						left = append(left, family.GetName())
					}
				}
			}
		}
	}
	return left
}
