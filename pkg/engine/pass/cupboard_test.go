package pass_test

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/engine/pass"
)

// cupboard stands for the Secrets and ConfigMaps of the API server and for the watch on them.
type cupboard struct {
	journal *journal

	mu      sync.Mutex
	objects map[outputs.Ref]outputs.Object
	// behind is what a watch that lags shows; without an entry it shows what is.
	behind  map[outputs.Ref]string
	version int
	// before may fail a request; it is given its line of the journal.
	before func(line string) error
}

var _ pass.Outputs = (*cupboard)(nil)

func newCupboard(j *journal) *cupboard {
	return &cupboard{
		journal: j, objects: map[outputs.Ref]outputs.Object{}, behind: map[outputs.Ref]string{}, version: 500,
		before: func(string) error { return nil },
	}
}

func (c *cupboard) enter(verb string, ref outputs.Ref) error {
	line := verb + " " + string(ref.Kind) + " " + ref.Name
	if err := c.before(line); err != nil {
		return err
	}
	c.journal.add(line)
	return nil
}

// Version implements pass.Outputs.
func (c *cupboard) Version(_ context.Context, ref outputs.Ref) (string, error) {
	if err := c.before("watch"); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.behind[ref]; ok {
		return old, nil
	}
	if o, ok := c.objects[ref]; ok && o.Labelled {
		return o.Version, nil
	}
	return "", nil
}

// Get implements pass.Outputs.
func (c *cupboard) Get(_ context.Context, ref outputs.Ref) (*outputs.Object, error) {
	if err := c.enter("get", ref); err != nil {
		return nil, err
	}
	return c.peek(ref), nil
}

// Create implements pass.Outputs.
func (c *cupboard) Create(_ context.Context, ref outputs.Ref, content outputs.Content) (*outputs.Object, error) {
	if err := c.enter("make", ref); err != nil {
		return nil, err
	}
	if c.peek(ref) != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, ref.Name)
	}
	return c.set(ref, content.Owner.UID, content.Note, content.Data), nil
}

// Update implements pass.Outputs.
func (c *cupboard) Update(_ context.Context, ref outputs.Ref, was *outputs.Object, content outputs.Content) (*outputs.Object, error) {
	if err := c.enter("fill", ref); err != nil {
		return nil, err
	}
	if live := c.peek(ref); live == nil || live.Version != was.Version {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, ref.Name, nil)
	}
	return c.set(ref, content.Owner.UID, content.Note, content.Data), nil
}

func (c *cupboard) set(ref outputs.Ref, owner types.UID, note string, data map[string]string) *outputs.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	o := outputs.Object{Version: strconv.Itoa(c.version), Controller: owner, Labelled: owner != "", Note: note, Data: maps.Clone(data)}
	c.objects[ref] = o
	return &o
}

func (c *cupboard) peek(ref outputs.Ref) *outputs.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects[ref]
	if !ok {
		return nil
	}
	o.Data = maps.Clone(o.Data)
	return &o
}

func (c *cupboard) remove(ref outputs.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, ref)
}

// person changes data as a person does: what the operator wrote beside it stays.
func (c *cupboard) person(ref outputs.Ref, data map[string]string) {
	o := c.peek(ref)
	c.set(ref, o.Controller, o.Note, data)
}

func secretNamed(name string) outputs.Ref {
	return outputs.Ref{Kind: v1alpha1.OutputSecret, NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}
}

// contextThatEnds is that of a process which is about to end.
func contextThatEnds(t *testing.T) (context.Context, func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	return ctx, stop
}
