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

// Engine is what the controller asks of the engine.
type Engine interface {
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
// mapping or around it stands in the report.
func (r *Reconciler) advance(ctx context.Context, m *v1alpha1.RestMapping) (*report, error) {
	rep := newReport(m)
	rival, err := r.rival(ctx, m)
	if err != nil {
		return nil, err
	}
	if rival != "" {
		rep.conflict(rival)
		return rep, r.Engine.Remove(m.Name)
	}
	t, err := r.target(ctx, m)
	if err != nil {
		return nil, err
	}
	if t.problem != nil {
		rep.incompatible(*t.problem)
		if t.terminating {
			return rep, r.serveGoing(ctx, m, t, rep)
		}
		return rep, r.Engine.Remove(m.Name)
	}
	rep.compatible(t)
	references, err := r.references(ctx, m)
	if err != nil {
		return nil, err
	}
	program, err := r.programs.compile(m, t, references)
	if !rep.compiled(program, err) {
		rep.unreferred(missing(references))
		r.goOn(m, rep)
		return rep, nil
	}
	rep.waitsFor(missing(references))
	return rep, r.run(ctx, m, t, references, rep)
}

// serveGoing: while a CRD is going, its custom resources wait for a person to say what becomes of their objects, and take
// what the mapping then says. It may be another process that ends this than the one that began it.
func (r *Reconciler) serveGoing(ctx context.Context, m *v1alpha1.RestMapping, t target, rep *report) error {
	t, err := r.withSchema(ctx, t.name, t)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	references, err := r.references(ctx, m)
	if err != nil {
		return err
	}
	program, err := r.programs.compile(m, t, references)
	if !rep.compiled(program, err) {
		return nil // what was served goes on being served
	}
	spec := specOf(m, t, references, program)
	if spec.Referrers, err = r.referrers(ctx, m); err != nil {
		return err
	}
	if err := r.Engine.Apply(spec); err != nil {
		return fmt.Errorf("run RestMapping %s: %w", m.Name, err)
	}
	state, _ := r.Engine.State(m.Name)
	rep.going(state)
	return nil
}

// goOn lets the last accepted program serve while the newest does not compile.
func (r *Reconciler) goOn(m *v1alpha1.RestMapping, rep *report) {
	if state, running := r.Engine.State(m.Name); running {
		rep.previous(state)
	}
}

// run has the engine serve the program, once the operator has the rights for it.
func (r *Reconciler) run(ctx context.Context, m *v1alpha1.RestMapping, t target, references []reference, rep *report) error {
	state, running := r.Engine.State(m.Name)
	if !running || state.WatchError != nil || state.Denied {
		denied, err := r.deniedOf(ctx, t, references)
		if err != nil {
			return err
		}
		if len(denied.rights) > 0 {
			rep.denied(denied.rights, strings.Join(denied.rules, " and ")+` in a ClusterRole with the label restmapping.dev/aggregate-to-operator: "true"`)
			return r.Engine.Remove(m.Name)
		}
	}
	// What runs goes on without the rights that a new output needs.
	denied, rules, err := r.deniedOutputs(ctx, t, rep.program)
	if err != nil {
		return err
	}
	if len(denied) > 0 {
		if running {
			rep.state = &state
		}
		rep.denied(denied, strings.Join(rules, " and "))
		return nil
	}
	return r.apply(ctx, m, t, references, rep)
}

// apply has the engine serve the program.
func (r *Reconciler) apply(ctx context.Context, m *v1alpha1.RestMapping, t target, references []reference, rep *report) error {
	spec := specOf(m, t, references, rep.program)
	var err error
	if spec.Referrers, err = r.referrers(ctx, m); err != nil {
		return err
	}
	if err := r.Engine.Apply(spec); err != nil {
		return fmt.Errorf("run RestMapping %s: %w", m.Name, err)
	}
	state, _ := r.Engine.State(m.Name)
	rep.running(state)
	return nil
}
