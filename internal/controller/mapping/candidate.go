package mapping

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// candidate is one generation of a mapping, and what it takes to serve it.
type candidate struct {
	m          *v1alpha1.RestMapping
	target     target
	references []reference
	// program is nil when the generation cannot serve.
	program *mapping.Program
	// hopeless tells that this is so for what surrounds it: a process that served it must not go on either.
	hopeless bool
}

// judge finds out how far a generation comes, and notes it in the report. A kind that is being deleted is served all the
// same: its custom resources have to let their objects go.
func (r *Reconciler) judge(ctx context.Context, m *v1alpha1.RestMapping, rep *report) (candidate, error) {
	c := candidate{m: m}
	rival, err := r.rival(ctx, m)
	if err != nil {
		return c, err
	}
	if rival != "" {
		rep.conflict(rival)
		c.hopeless = true
		return c, nil
	}
	if c.target, err = r.target(ctx, m); err != nil {
		return c, err
	}
	if c.target.problem != nil {
		rep.incompatible(*c.target.problem)
		if !c.target.terminating {
			c.hopeless = true
			return c, nil
		}
		if c.target, err = r.withSchema(ctx, c.target.name, c.target); err != nil {
			return c, client.IgnoreNotFound(err)
		}
	} else {
		rep.compatible(c.target)
	}
	return r.compile(ctx, c, rep)
}

// compile gives the candidate its program, or the report the reasons why it has none.
func (r *Reconciler) compile(ctx context.Context, c candidate, rep *report) (candidate, error) {
	var err error
	if c.references, err = r.references(ctx, c.m); err != nil {
		return c, err
	}
	program, err := r.programs.compile(c.m, c.target, c.references)
	if !rep.compiled(program, err) {
		rep.unreferred(missing(c.references))
		return c, nil
	}
	c.program = program
	rep.waitsFor(missing(c.references))
	return c, nil
}
