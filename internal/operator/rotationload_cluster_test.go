//go:build cluster

package operator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// failedPasses counts looks at custom resources that ended in a retry or a stall, as the operator's own metric has them.
func (r *rotating) failedPasses() int {
	r.t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	count, found := 0.0, false
	for _, family := range families {
		if family.GetName() != "restmapping_passes_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range metric.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["mapping"] == r.GVR.Resource {
				found = true
				if labels["end"] == "Retry" || labels["end"] == "Stall" {
					count += metric.GetCounter().GetValue()
				}
			}
		}
	}
	if !found {
		r.t.Fatal("there is no metric of the mapping's passes")
	}
	return int(count)
}

// load changes custom resources all the time, one after the other.
type load struct {
	t      *testing.T
	names  []string
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	changes int
}

const pause = 20 * time.Millisecond

func (r *rotating) load(names []string) *load {
	ctx, cancel := context.WithCancel(r.t.Context())
	l := &load{t: r.t, names: names, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for ctx.Err() == nil {
			n := l.count()
			patch := fmt.Sprintf(`{"spec":{"size":%d}}`, n/len(names)+1)
			_, err := r.Resource().Patch(context.WithoutCancel(ctx), names[n%len(names)], "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
			if err != nil {
				r.t.Errorf("change %s: %v", names[n%len(names)], err)
				return
			}
			l.mu.Lock()
			l.changes++
			l.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	return l
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// wait until n more were changed.
func (l *load) wait(n int) {
	l.t.Helper()
	until := l.count() + n
	for l.count() < until {
		select {
		case <-l.done:
			l.t.Fatal("the load ended")
		case <-time.After(pause):
		}
	}
}

func (l *load) stop() {
	l.cancel()
	<-l.done
}

// last is what a custom resource was set to last.
func (l *load) last(i int) int {
	n := l.count()
	if i < n%len(l.names) {
		return n/len(l.names) + 1
	}
	return n / len(l.names)
}
