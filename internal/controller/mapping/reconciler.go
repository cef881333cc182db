package mapping

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

// Planner is what the controller asks about a generation that does not serve yet.
type Planner interface {
	Plan(spec engine.Spec) (engine.Plan, error)
	EndPlan(name string)
}

// Engine is what the controller asks of the engine.
type Engine interface {
	Planner
	Apply(spec engine.Spec) error
	Remove(name string) error
	State(name string) (engine.State, bool)
	Subscribe(listener func(mapping string)) (unsubscribe func())
}

// Reconciler keeps RestMappings running.
type Reconciler struct {
	// Client reads from the cache and writes. The cached CRDs have no schemas: see StripSchemas.
	Client client.Client
	// Live reads single CRDs with their schemas from the API server, when they have changed.
	Live client.Reader
	// Dynamic counts custom resources that still hold objects, when their mapping does not run.
	Dynamic dynamic.Interface
	// Access asks what the operator may do.
	Access authorizationv1client.SelfSubjectAccessReviewInterface
	Engine Engine
	// Namespaces limits the custom resources that are served; empty means all.
	Namespaces []string

	programs programs
}

const (
	// deniedRetry is how often missing rights are asked for again: granting them raises no event.
	deniedRetry = 20 * time.Second
	// coalesce is how long changes of the engine's state are gathered before the status says so.
	coalesce = time.Second
)

// Reconcile brings one mapping to what its spec says. It implements reconcile.Reconciler: an error means backoff.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &v1alpha1.RestMapping{}
	if err := r.Client.Get(ctx, req.NamespacedName, m); err != nil {
		if apierrors.IsNotFound(err) {
			r.programs.forget(req.Name)
			return ctrl.Result{}, r.Engine.Remove(req.Name)
		}
		return ctrl.Result{}, fmt.Errorf("get RestMapping %s: %w", req.Name, err)
	}
	if !m.DeletionTimestamp.IsZero() {
		return r.remove(ctx, m)
	}
	if err := r.hold(ctx, m); err != nil {
		return ctrl.Result{}, err
	}
	rep, err := r.advance(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.write(ctx, m, rep); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: rep.again}, nil
}

// hold sets the finalizer, so that a mapping cannot go while custom resources still need it to let their objects go.
func (r *Reconciler) hold(ctx context.Context, m *v1alpha1.RestMapping) error {
	before := m.DeepCopy()
	if !controllerutil.AddFinalizer(m, v1alpha1.MappingFinalizer) {
		return nil
	}
	if err := r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("set finalizer of RestMapping %s: %w", m.Name, err)
	}
	return nil
}

// advance goes as far as it can and reports how far that was. Errors are the API server's; what is wrong with the
// mapping or around it stands in the report. Whatever keeps the newest generation from serving, the one that was accepted
// before it goes on.
func (r *Reconciler) advance(ctx context.Context, m *v1alpha1.RestMapping) (*report, error) {
	rep := newReport(m)
	newest, err := r.judge(ctx, m, rep)
	if err != nil {
		return nil, err
	}
	if newest.program == nil {
		return rep, r.fallBack(ctx, m, newest, rep)
	}
	if newest.target.terminating {
		return rep, r.serveGoing(ctx, newest, rep)
	}
	if _, running := r.Engine.State(m.Name); !running {
		// Another process may have served another generation: that serves until it is known that this one can.
		if _, err := r.serveFormer(ctx, m); err != nil {
			return nil, err
		}
	}
	return rep, r.run(ctx, newest, rep)
}

// fallBack: where the newest generation cannot serve, the one before it does; where that cannot either, what runs goes on
// unless there is nothing left to run for.
func (r *Reconciler) fallBack(ctx context.Context, m *v1alpha1.RestMapping, newest candidate, rep *report) error {
	served, err := r.serveFormer(ctx, m)
	if err != nil {
		return err
	}
	if newest.hopeless && !served {
		return r.Engine.Remove(m.Name)
	}
	if state, running := r.Engine.State(m.Name); running {
		rep.previous(state)
	}
	return nil
}

// serveGoing: while a CRD is going, its custom resources wait for a person to say what becomes of their objects, and take
// what the mapping then says. It may be another process that ends this than the one that began it.
func (r *Reconciler) serveGoing(ctx context.Context, c candidate, rep *report) error {
	state, err := r.apply(ctx, c)
	if err != nil {
		return err
	}
	rep.accept()
	rep.going(state)
	return nil
}

// run has the engine serve the newest generation, once the operator has the rights for it.
func (r *Reconciler) run(ctx context.Context, c candidate, rep *report) error {
	state, running := r.Engine.State(c.m.Name)
	healthy := running && state.WatchError == nil && !state.Denied
	if !healthy || state.Generation != c.m.Generation {
		denied, err := r.deniedOf(ctx, c.target, c.references)
		if err != nil {
			return err
		}
		if len(denied.rights) > 0 {
			rep.denied(denied.rights, strings.Join(denied.rules, " and ")+` in a ClusterRole with the label restmapping.dev/aggregate-to-operator: "true"`)
			if healthy && state.Generation != c.m.Generation {
				return r.goOn(ctx, c.m, rep)
			}
			return r.Engine.Remove(c.m.Name)
		}
	}
	denied, rules, err := r.deniedOutputs(ctx, c.target, c.program)
	if err != nil {
		return err
	}
	if len(denied) > 0 {
		rep.denied(denied, strings.Join(rules, " and "))
		return r.goOn(ctx, c.m, rep)
	}
	if free, err := r.passesGuard(ctx, c, rep); err != nil || !free {
		if err == nil {
			_, err = r.serveFormer(ctx, c.m)
		}
		return err
	}
	r.Engine.EndPlan(c.m.Name)
	if state, err = r.apply(ctx, c); err != nil {
		return err
	}
	rep.accept()
	rep.running(state)
	return nil
}

// goOn: what runs goes on without the rights that the newest generation needs.
func (r *Reconciler) goOn(ctx context.Context, m *v1alpha1.RestMapping, rep *report) error {
	if _, err := r.serveFormer(ctx, m); err != nil {
		return err
	}
	if state, running := r.Engine.State(m.Name); running {
		rep.state = &state
	}
	return nil
}

// apply has the engine serve a candidate.
func (r *Reconciler) apply(ctx context.Context, c candidate) (engine.State, error) {
	spec, err := r.specOf(ctx, c)
	if err != nil {
		return engine.State{}, err
	}
	if err := r.Engine.Apply(spec); err != nil {
		return engine.State{}, fmt.Errorf("run generation %d of RestMapping %s: %w", c.m.Generation, c.m.Name, err)
	}
	state, _ := r.Engine.State(c.m.Name)
	return state, nil
}
