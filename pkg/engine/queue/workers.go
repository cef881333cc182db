package queue

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// DefaultWorkers is how many names of one mapping are handled at the same time unless something else is asked for.
const DefaultWorkers = 4

// Workers is the queue and the workers of one mapping. Names can be added from the moment it is made; they are handled
// from Start to Stop. Stop must be called even if Start never was.
type Workers struct {
	name       string
	count      int
	handler    Handler
	minBackoff time.Duration
	maxBackoff time.Duration
	queue      priorityqueue.PriorityQueue[types.NamespacedName]
	counters   counters

	mu        sync.Mutex // guards the three below; never held during a wait
	started   bool
	stopped   bool
	interrupt context.CancelFunc // ends the context of running handlers

	running sync.WaitGroup
	idle    chan struct{} // closed when Stop was called and no worker is left
}

// Option changes how workers work.
type Option func(*Workers)

// WithWorkers sets how many names are handled at the same time. Less than one means DefaultWorkers.
func WithWorkers(count int) Option {
	return func(w *Workers) {
		if count > 0 {
			w.count = count
		}
	}
}

// WithBackoff sets the shortest and the longest delay after failures.
func WithBackoff(shortest, longest time.Duration) Option {
	return func(w *Workers) { w.minBackoff, w.maxBackoff = shortest, longest }
}

// NewWorkers makes a queue for the mapping of that name. The name only serves logs and errors.
func NewWorkers(name string, handler Handler, options ...Option) *Workers {
	w := &Workers{
		name:       name,
		count:      DefaultWorkers,
		handler:    handler,
		minBackoff: DefaultMinBackoff,
		maxBackoff: DefaultMaxBackoff,
		interrupt:  func() {},
		idle:       make(chan struct{}),
	}
	for _, option := range options {
		option(w)
	}
	// The queue gets no name, and so neither metrics nor a goroutine that feeds them: series of a stopped mapping
	// would stay for ever. Stats gives the same numbers to one collector.
	w.queue = priorityqueue.New("", func(o *priorityqueue.Opts[types.NamespacedName]) {
		o.RateLimiter = newBackoff(w.minBackoff, w.maxBackoff)
		o.Log = logr.Discard()
	})
	return w
}

// Start lets the workers begin and returns. Handlers see the values of ctx, but not its end: a request that is under
// way when the operator is told to stop must finish and be recorded. Only Stop interrupts them. A second Start does
// nothing, nor does a Start after Stop.
func (w *Workers) Start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.stopped {
		return
	}
	w.started = true
	handling, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	w.interrupt = interrupt
	for range w.count {
		w.running.Go(func() { w.work(handling) })
	}
}

// Add puts names into the queue. If a name is there already, it gets the higher of both priorities and the earlier of
// both times. While a name is being handled, adding it makes it come again afterwards. After Stop it does nothing.
func (w *Workers) Add(options Options, names ...types.NamespacedName) {
	priority := int(options.Priority)
	w.queue.AddWithOpts(priorityqueue.AddOpts{After: options.After, Priority: &priority}, names...)
}

// Stop takes nothing more in, leaves what is queued undone, and waits until the running handlers have finished. When
// ctx ends before, it interrupts them, still waits for them, and returns a *DrainError. It may be called several times.
func (w *Workers) Stop(ctx context.Context) error {
	w.shut()
	select {
	case <-w.idle:
		return nil
	default:
	}
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
	}
	interrupted := w.Stats().Running
	w.interruptHandlers()
	<-w.idle // bounded by the handlers, which end soon after their context
	if interrupted == 0 {
		return nil
	}
	return &DrainError{Queue: w.name, Interrupted: interrupted, Err: ctx.Err()}
}

// shut closes the intake once and lets somebody wait for the workers. The waiting goroutine ends with them.
func (w *Workers) shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.stopped = true
	w.queue.ShutDown()
	go func() {
		w.running.Wait()
		w.interruptHandlers() // frees the context
		close(w.idle)
	}()
}

func (w *Workers) interruptHandlers() {
	w.mu.Lock()
	interrupt := w.interrupt
	w.mu.Unlock()
	interrupt()
}

func (w *Workers) work(ctx context.Context) {
	for {
		name, priority, shutdown := w.queue.GetWithPriority()
		if shutdown {
			return
		}
		w.process(ctx, name, Priority(priority))
	}
}

// process handles one name. Done comes last, so that what process adds cannot be handed to another worker before.
func (w *Workers) process(ctx context.Context, name types.NamespacedName, priority Priority) {
	defer w.queue.Done(name)
	result := w.handle(ctx, name)
	switch {
	case result.Err != nil:
		w.report(ctx, name, result)
		w.retry(name, priority)
	case result.After > 0:
		w.queue.Forget(name)
		w.Add(Options{Priority: result.Priority, After: result.After}, name)
	default:
		w.queue.Forget(name)
	}
}

func (w *Workers) retry(name types.NamespacedName, priority Priority) {
	p := int(priority)
	w.queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &p}, name)
}

// handle calls the handler, counts, and turns a panic into a failure.
func (w *Workers) handle(ctx context.Context, name types.NamespacedName) (result Result) {
	w.counters.running.Add(1)
	defer func() {
		if value := recover(); value != nil {
			w.counters.panicked.Add(1)
			result = Result{Err: &PanicError{Value: value, Stack: debug.Stack()}}
		}
		if result.Err != nil {
			w.counters.failed.Add(1)
		}
		w.counters.handled.Add(1)
		w.counters.running.Add(-1)
	}()
	return w.handler.Handle(ctx, name)
}

// report logs a failure. An ordinary one is told by the conditions of the object and only noted here; a panic is a bug
// and needs its stack.
func (w *Workers) report(ctx context.Context, name types.NamespacedName, result Result) {
	err, log := result.Err, logr.FromContextOrDiscard(ctx).WithValues("queue", w.name, "object", name.String())
	if result.Trace != "" {
		log = log.WithValues("trace_id", result.Trace)
	}
	if panicked, ok := errors.AsType[*PanicError](err); ok {
		log.Error(err, "handling panicked and will be tried again", "stack", string(panicked.Stack))
		return
	}
	log.Info("handling failed and will be tried again", "error", err.Error())
}
