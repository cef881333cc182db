package queue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/queue"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "blue", Name: name}
}

func numbered(prefix string, count int) []types.NamespacedName {
	names := make([]types.NamespacedName, count)
	for i := range names {
		names[i] = named(fmt.Sprintf("%s-%d", prefix, i))
	}
	return names
}

// journal is a handler that notes what it handled and when, and answers from a script.
type journal struct {
	begin  time.Time
	answer func(attempt int, name types.NamespacedName) queue.Result

	mu       sync.Mutex
	attempts map[string]int
	order    []string
	times    map[string][]time.Duration
}

func newJournal(answer func(attempt int, name types.NamespacedName) queue.Result) *journal {
	return &journal{begin: time.Now(), answer: answer, attempts: map[string]int{}, times: map[string][]time.Duration{}}
}

func done(int, types.NamespacedName) queue.Result { return queue.Result{} }

func (j *journal) Handle(_ context.Context, name types.NamespacedName) queue.Result {
	j.mu.Lock()
	attempt := j.attempts[name.Name]
	j.attempts[name.Name]++
	j.order = append(j.order, name.Name)
	j.times[name.Name] = append(j.times[name.Name], time.Since(j.begin))
	j.mu.Unlock()
	return j.answer(attempt, name)
}

func (j *journal) handled() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.order)
}

func (j *journal) timesOf(name string) []time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.times[name])
}

// stop ends the workers and fails the test if a handler had to be interrupted.
func stop(t *testing.T, w *queue.Workers) {
	t.Helper()
	if err := w.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}
