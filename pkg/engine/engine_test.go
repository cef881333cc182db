package engine

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
)

func TestAMappingLooksAtItsCustomResources(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"), thing("green", "two", finalized(v1alpha1.Finalizer)))
	if _, running := b.engine.State("things"); running {
		t.Error("it runs before it was applied")
	}
	b.apply(spec(compile(t, "")))
	b.settled("one", "two")
	state, _ := b.engine.State("things")
	if state.Objects != 2 || state.Held != 1 || state.Ready != 0 || state.WatchError != nil {
		t.Errorf("state %+v", state)
	}
	if names := b.engine.Names(); !slices.Equal(names, []string{"things"}) {
		t.Errorf("names %v", names)
	}
}

func TestOnlyTheServedNamespacesAreWatched(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, func(c *Config) { c.Namespaces = []string{"blue", "green"} }, thing("blue", "one"), thing("green", "two"), thing("red", "three"))
	b.apply(spec(compile(t, "")))
	b.settled("one", "two")
	if state, _ := b.engine.State("things"); state.Objects != 2 || b.outside.count("three") != 0 {
		t.Errorf("state %+v, looks at the third: %d", state, b.outside.count("three"))
	}
}

func TestEventsAreLookedAtAndOurOwnWritesAreNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"))
	b.apply(spec(compile(t, "")))
	b.settled("one")
	before := b.outside.count("one")
	obj, err := b.client.Resource(thingsGVR).Namespace("blue").Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	obj.SetResourceVersion("50")
	obj.SetAnnotations(map[string]string{v1alpha1.RecordAnnotation: "ours"})
	b.update(obj)
	if _, err := b.client.Resource(thingsGVR).Namespace("blue").Create(t.Context(), thing("blue", "two"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.settled("two") // which came after it in the watch
	if got := b.outside.count("one"); got != before {
		t.Errorf("our own write brought %d looks", got-before)
	}
	obj.SetResourceVersion("51")
	obj.SetGeneration(2)
	b.update(obj)
	b.eventually("the change is looked at", func() bool { return b.outside.count("one") > before })
	if err := b.client.Resource(thingsGVR).Namespace("blue").Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the deletion is seen", func() bool {
		state, _ := b.engine.State("things")
		return state.Objects == 1
	})
}

func TestAnotherProgramGoesOnWithTheSameWatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"))
	first, second := compile(t, ""), compile(t, "")
	b.apply(spec(first))
	b.settled("one")
	r := b.engine.runner("things")
	before := b.outside.count("one")
	b.apply(spec(first))
	if !b.idle() || b.outside.count("one") != before {
		t.Error("the same program has everything looked at again")
	}
	b.apply(spec(second))
	b.eventually("everything is looked at again", func() bool { return b.outside.count("one") > before })
	if b.engine.runner("things") != r || r.program() != second {
		t.Error("it was restarted, or serves the former")
	}
}

func TestAnotherWatchIsAnotherStart(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*Spec){
		"another version":          func(s *Spec) { s.GVR.Version = "v2" },
		"another scope":            func(s *Spec) { s.Namespaced = false },
		"another selector":         func(s *Spec) { s.Selector = "a=b" },
		"another CRD of that name": func(s *Spec) { s.Incarnation = "crd-2" },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := spec(compile(t, ""))
			b.apply(s)
			r := b.engine.runner("things")
			change(&s)
			b.apply(s)
			if b.engine.runner("things") == r {
				t.Error("the former goes on")
			}
			owners := 0
			for _, byName := range b.fleet.Owners() {
				owners += byName["things"]
			}
			if owners != 1 {
				t.Errorf("%d subscriptions, want 1", owners)
			}
		})
	}
}

func TestWhatCannotBeWatchedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spec(compile(t, ""))
	s.Selector = "this is no selector!"
	if err := b.engine.Apply(s); err == nil {
		t.Error("no error")
	}
	if _, running := b.engine.State("things"); running || len(b.fleet.Owners()) > 0 {
		t.Errorf("running: %t, watches: %v", running, b.fleet.Owners())
	}
}

func TestRemoveLetsGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"))
	b.apply(spec(compile(t, "")))
	b.settled("one")
	for range 2 { // an unknown name is no error
		if err := b.engine.Remove("things"); err != nil {
			t.Fatal(err)
		}
	}
	if _, running := b.engine.State("things"); running || len(b.fleet.Owners()) > 0 || len(b.engine.Names()) > 0 {
		t.Errorf("running: %t, watches: %v", running, b.fleet.Owners())
	}
}

// A kind that comes and goes leaves nothing; goleak checks the goroutines in the end.
func TestStartingAndStoppingManyTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"))
	for range 50 {
		b.apply(spec(compile(t, "")))
		if err := b.engine.Remove("things"); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.fleet.Owners()) > 0 {
		t.Errorf("watches: %v", b.fleet.Owners())
	}
}

// A pass under way ends and is recorded before its watch is let go.
func TestStoppingLetsAPassUnderWayEnd(t *testing.T) {
	t.Parallel()
	ways := map[string]func(b *bench) error{
		"of the mapping": func(b *bench) error { return b.engine.Remove("things") },
		"of the engine":  func(b *bench) error { return b.stop() },
	}
	for name, stop := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, thing("blue", "one"))
			b.outside.hold = make(chan struct{})
			b.apply(spec(compile(t, "")))
			<-b.outside.held
			ended := make(chan error, 1)
			go func() { ended <- stop(b) }()
			b.eventually("the stop has begun", func() bool { return b.engine.runner("things") == nil })
			select {
			case err := <-ended:
				t.Fatalf("stopped with a pass under way: %v", err)
			default:
			}
			if len(b.fleet.Owners()) == 0 {
				t.Error("the watch is gone before the pass has ended")
			}
			close(b.outside.hold)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if b.outside.done.Load() != 1 {
				t.Error("the pass was interrupted")
			}
			obj, err := b.client.Resource(thingsGVR).Namespace("blue").Get(t.Context(), "one", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions"); len(conditions) == 0 {
				t.Error("the pass was not recorded")
			}
		})
	}
}

func TestAPassThatHangsIsInterruptedAfterTheDrainTime(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, func(c *Config) { c.DrainTimeout = time.Millisecond }, thing("blue", "one"))
	b.outside.hold = make(chan struct{})
	b.apply(spec(compile(t, "")))
	<-b.outside.held
	drain := (*queue.DrainError)(nil)
	if err := b.engine.Remove("things"); !errors.As(err, &drain) {
		t.Errorf("gave %v", err)
	}
	if b.outside.done.Load() != 0 {
		t.Error("the pass was not interrupted")
	}
}

func TestNothingRunsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	idle := New(Config{Clock: clock.RealClock{}})
	if err := idle.Apply(spec(nil)); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "things") {
		t.Errorf("before: %v", err)
	}
	if !idle.NeedLeaderElection() {
		t.Error("it would act without being the leader")
	}
	b := newBench(t)
	b.apply(spec(compile(t, "")))
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.Apply(spec(compile(t, ""))); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after: %v", err)
	}
	if len(b.engine.Names()) > 0 || len(b.fleet.Owners()) > 0 {
		t.Errorf("left: %v, %v", b.engine.Names(), b.fleet.Owners())
	}
}

func TestAChangeOfAnEndpointBringsBackWhoUsesIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind      v1alpha1.EndpointKind
		namespace string
		endpoint  string
		want      []string
	}{
		"in a namespace":          {v1alpha1.EndpointKind("RestEndpoint"), "blue", "main", []string{"one"}},
		"another of a namespace":  {v1alpha1.EndpointKind("RestEndpoint"), "blue", "other", nil},
		"in a namespace without":  {v1alpha1.EndpointKind("RestEndpoint"), "red", "main", nil},
		"of the whole cluster":    {v1alpha1.EndpointKind("RestEndpoint"), "", "main", []string{"one", "two"}},
		"of a kind it never uses": {v1alpha1.EndpointKind("ClusterRestEndpoint"), "", "main", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, thing("blue", "one"), thing("green", "two"))
			b.apply(spec(compile(t, "")))
			b.settled("one", "two")
			b.expectLooks(tc.want, func() { b.engine.EndpointChanged(tc.kind, tc.namespace, tc.endpoint) })
		})
	}
}

func TestAChangeOfASecretBringsBackWhoReadsIt(t *testing.T) {
	t.Parallel()
	const (
		reads = `  secrets: [{name: password, refExpression: "{'name': 'mine', 'key': 'k'}"}]
`
		readsNone = `  secrets: [{name: password, refExpression: "has(self.spec.ref) ? optional.of(self.spec.ref) : optional.none()", optional: true}]
`
	)
	cases := map[string]struct {
		more, namespace, secret string
		want                    []string
	}{
		"that is read": {reads, "blue", "mine", []string{"one"}},
		"another one":  {reads, "blue", "other", nil},
		"of a resource that reads none at present": {readsNone, "blue", "mine", nil},
		"of a mapping that reads none":             {"", "blue", "mine", nil},
		"in a namespace without such resource":     {reads, "red", "mine", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, thing("blue", "one"), thing("green", "two"))
			b.apply(spec(compile(t, tc.more)))
			b.settled("one", "two")
			b.expectLooks(tc.want, func() { b.engine.SecretChanged(tc.namespace, tc.secret) })
		})
	}
}

// expectLooks checks which objects a change brings back, by letting another one, of which it is known, come after them.
func (b *bench) expectLooks(want []string, change func()) {
	b.Helper()
	before := map[string]int{"one": b.outside.count("one"), "two": b.outside.count("two")}
	handled := func() uint64 { s, _ := b.engine.State("things"); return s.Queue.Handled }
	first := handled()
	change()
	b.eventually("the change is dealt with", func() bool { return handled() >= first+uint64(len(want)) && b.idle() })
	for name, was := range before {
		if looked := b.outside.count(name) > was; looked != slices.Contains(want, name) {
			b.Errorf("%s was looked at again: %t", name, looked)
		}
	}
}

func TestSubscribersHearOfChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"))
	var mu sync.Mutex
	heard := map[string]int{}
	unsubscribe := b.engine.Subscribe(func(name string) {
		mu.Lock()
		defer mu.Unlock()
		heard[name]++
	})
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return heard["things"]
	}
	b.apply(spec(compile(t, "")))
	b.settled("one")
	b.eventually("it is told", func() bool { return count() > 0 })
	told := count()
	if err := b.engine.Remove("things"); err != nil {
		t.Fatal(err)
	}
	if count() <= told {
		t.Error("the end is not told")
	}
	unsubscribe()
	told = count()
	b.apply(spec(compile(t, "")))
	b.settled("one")
	if count() != told {
		t.Error("it is told after the subscription has ended")
	}
}

func TestAWriteThatIsForbiddenIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newRunner(b.engine, spec(compile(t, "")))
	defer func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}()
	told := 0
	r.changed = func(string) { told++ }
	key := types.NamespacedName{Namespace: "blue", Name: "one"}
	r.observe(pass.Summary{Key: key})
	r.observe(pass.Summary{Key: key, Denied: true})
	r.observe(pass.Summary{Key: key, Denied: true})
	if told != 2 || !r.state().Denied {
		t.Errorf("told %d times, state %+v", told, r.state())
	}
	r.serve(r.spec)
	if r.state().Denied {
		t.Error("it stays after the mapping was applied again")
	}
}
