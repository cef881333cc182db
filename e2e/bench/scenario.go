package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	steadyIntervals = 5
	drifted         = 100
	driftedSize     = 99
	firstSize       = 1
	secondSize      = 2
	patience        = 5 * time.Minute
)

// scenarios in the order in which they are run: each stands on the one before. The restart comes early, because for
// about a minute after its start the operator holds what it deletes until no request of its predecessor can still take
// effect; a delete in that minute would measure the minute.
func scenarios() []string {
	return []string{"create", "restart", "steady", "drift", "update", "delete"}
}

// action is one scenario under way.
type action struct {
	// own is how many writes the driver makes at the API server.
	own int
	// per divides the costs, unit is its name in the tables.
	per  int
	unit string
	// fresh tells that the process starts within the scenario.
	fresh bool
	do    func(ctx context.Context) error
	// done tells when the time is taken, settled when the costs are: what follows from the scenario belongs to it.
	done, settled func(ctx context.Context) (string, error)
}

func (t *turn) action(name string) action {
	object := action{per: t.n, unit: "object", own: t.n}
	switch name {
	case "create":
		object.do = func(ctx context.Context) error { return t.crew.create(ctx, t.n, firstSize) }
		object.done, object.settled = t.allSized(firstSize), t.allSized(firstSize)
	case "steady":
		object.do = func(ctx context.Context) error { return sleep(ctx, steadyIntervals*interval) }
		object.own, object.per, object.unit = 0, t.n*steadyIntervals, "object and interval"
		object.done, object.settled = t.allSized(firstSize), t.allSized(firstSize)
	case "drift":
		many := min(drifted, t.n)
		object.do = func(ctx context.Context) error { return t.server.drift(ctx, many) }
		object.own, object.per, object.unit = 0, many, "changed object"
		object.done, object.settled = t.allSized(firstSize), t.allSized(firstSize)
	case "update":
		object.do = func(ctx context.Context) error { return t.crew.resize(ctx, t.n, secondSize) }
		object.done, object.settled = t.onServer(secondSize), t.allSized(secondSize)
	case "restart":
		object.own, object.fresh = 0, true
		object.do = t.contender.start
		object.done, object.settled = t.allSeen, t.allSeen
	default:
		object.do = func(ctx context.Context) error { return t.crew.remove(ctx, t.n) }
		object.done, object.settled = t.gone, t.gone
	}
	return object
}

// run measures one scenario.
func (t *turn) run(ctx context.Context, name string) (result, error) {
	a := t.action(name)
	r := result{Scenario: name, Contender: t.contender.name(), Objects: t.n, Per: a.per, Unit: a.unit}
	before, err := t.begin(ctx, a)
	if err != nil {
		return r, err
	}
	if err := a.do(ctx); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if err := await(ctx, name, a.done); err != nil {
		return r, err
	}
	r.Seconds = time.Since(before.at).Seconds()
	if err := await(ctx, name, a.settled); err != nil {
		return r, err
	}
	return r, t.end(ctx, a, before, &r)
}

func (t *turn) begin(ctx context.Context, a action) (reading, error) {
	if a.fresh {
		t.contender.stop()
	}
	if err := t.server.forget(ctx); err != nil {
		return reading{}, err
	}
	pid := 0
	if !a.fresh {
		pid = t.contender.pid()
		if err := resetPeak(pid); err != nil {
			return reading{}, fmt.Errorf("forget the peak of the memory: %w", err)
		}
	}
	before, err := t.read(ctx, pid)
	before.at = time.Now() // taking the reading took time
	return before, err
}

func (t *turn) end(ctx context.Context, a action, before reading, r *result) error {
	after, err := t.read(ctx, t.contender.pid())
	if err != nil {
		return err
	}
	r.between(before, after, t.contender.group(), a.own)
	if r.PeakMiB, err = peakMemory(t.contender.pid()); err != nil {
		return err
	}
	st, err := t.server.state(ctx, 0)
	r.REST, r.Duplicates = st.Requests, st.Duplicates
	if r.Scenario == "delete" {
		r.Left = st.Live
	}
	return err
}

// allSized tells that every custom resource is ready and the server has everything with this size.
func (t *turn) allSized(size int) func(context.Context) (string, error) {
	onServer := t.onServer(size)
	return func(ctx context.Context) (string, error) {
		if total, ready := t.view.counts(); total != t.n || ready != t.n {
			return fmt.Sprintf("%d of %d custom resources are ready", ready, t.n), nil
		}
		return onServer(ctx)
	}
}

func (t *turn) onServer(size int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		st, err := t.server.state(ctx, size)
		if err != nil || st.Live == t.n && st.Sized == t.n {
			return "", err
		}
		return fmt.Sprintf("the server has %d objects, %d as they should be, of %d", st.Live, st.Sized, t.n), nil
	}
}

func (t *turn) allSeen(ctx context.Context) (string, error) {
	st, err := t.server.state(ctx, 0)
	if err != nil || st.Seen == t.n {
		return "", err
	}
	return fmt.Sprintf("%d of %d objects were read", st.Seen, t.n), nil
}

func (t *turn) gone(ctx context.Context) (string, error) {
	st, err := t.server.state(ctx, 0)
	total, _ := t.view.counts()
	if err != nil || total == 0 && st.Live == 0 {
		return "", err
	}
	return fmt.Sprintf("%d custom resources and %d objects are left", total, st.Live), nil
}

// await polls until check has nothing to say.
func await(ctx context.Context, what string, check func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		missing, err := check(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if missing == "" {
			return nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w: %s", what, err, missing)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// chosen gives the scenarios to run, with those that they stand on.
func chosen(wanted []string) ([]string, error) {
	var list []string
	for _, name := range scenarios() {
		if name == "create" || name == "delete" || slices.Contains(wanted, name) {
			list = append(list, name)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(scenarios(), name) {
			return nil, fmt.Errorf("unknown scenario %q; there are %v", name, scenarios())
		}
	}
	return list, nil
}
