package mapping

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

const (
	// MaxElements bounds the elements of one part of a custom resource.
	MaxElements = 500
	// MaxListedItems bounds the objects in the list of one part.
	MaxListedItems = 5000
	// maxKeyLength bounds a key: each is written into the record.
	maxKeyLength = 253
)

// partPlan is a part of a mapping: which elements there are, and a program of its own for the objects made from them.
type partPlan struct {
	name         string
	forEach      *expression
	key, itemKey *expression
	prune        v1alpha1.Prune
	deletion     v1alpha1.PartDeletion
	program      *Program
}

// Part is one part of a mapping: objects outside that belong to the object of a custom resource.
type Part struct{ plan *partPlan }

// Parts are the parts of the mapping, in its order.
func (p *Program) Parts() []Part {
	parts := make([]Part, len(p.parts))
	for i, plan := range p.parts {
		parts[i] = Part{plan}
	}
	return parts
}

// Name is the part's name.
func (p Part) Name() string { return p.plan.name }

// Prune says what is done to objects that no element asks for.
func (p Part) Prune() v1alpha1.Prune { return p.plan.prune }

// Deletion says what becomes of the objects when the custom resource goes.
func (p Part) Deletion() v1alpha1.PartDeletion { return p.plan.deletion }

// Supports tells whether the part declares an operation.
func (p Part) Supports(operation rest.Operation) bool { return p.plan.program.Supports(operation) }

// Route is the path of an operation as the author wrote it.
func (p Part) Route(operation rest.Operation) string { return p.plan.program.Route(operation) }

// Element is what the custom resource asks for in one part.
type Element struct {
	// Key tells it from the others.
	Key   string
	value any
}

// Elements gives what the custom resource asks for in a part. Two elements with one key are a *DuplicateKeyError.
func (s *Pass) Elements(ctx context.Context, part Part) ([]Element, error) {
	plan := part.plan
	value, present, err := s.evaluate(ctx, plan.forEach, nil)
	if err != nil || !present {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, &ExpressionError{Field: plan.forEach.field, Problem: "gives " + kindOf(value) + " where a list is needed"}
	}
	if len(list) > MaxElements {
		return nil, &ExpressionError{
			Field:   plan.forEach.field,
			Problem: fmt.Sprintf("gives %d elements, and a part has at most %d; divide them among several custom resources", len(list), MaxElements),
		}
	}
	elements := make([]Element, 0, len(list))
	seen, twice := map[string]bool{}, &DuplicateKeyError{Part: plan.name}
	for _, item := range list {
		key, err := s.elementKey(ctx, plan, item)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			twice.add(key)
		}
		seen[key] = true
		elements = append(elements, Element{Key: key, value: item})
	}
	if len(twice.Keys) > 0 {
		return nil, twice
	}
	return elements, nil
}

func (s *Pass) elementKey(ctx context.Context, plan *partPlan, item any) (string, error) {
	value, present, err := s.evaluate(ctx, plan.key, map[celrules.Variable]any{celrules.Part: item})
	if err != nil {
		return "", err
	}
	key, _ := value.(string)
	switch {
	case !present || key == "":
		return "", &ExpressionError{Field: plan.key.field, Problem: "gives no text for an element; every element needs a key"}
	case len(key) > maxKeyLength:
		return "", &ExpressionError{Field: plan.key.field, Problem: fmt.Sprintf("gives a text of more than %d bytes", maxKeyLength)}
	}
	return key, nil
}

// DuplicateKeyError says that elements of one part have the same key.
type DuplicateKeyError struct {
	Part string
	// Keys are those that more than one element has.
	Keys []string
}

func (e *DuplicateKeyError) add(key string) {
	if !slices.Contains(e.Keys, key) {
		e.Keys = append(e.Keys, key)
	}
}

// Error implements error.
func (e *DuplicateKeyError) Error() string {
	shown := e.Keys[:min(len(e.Keys), maxNamesInMessage)]
	return fmt.Sprintf("parts.%s: more than one element has the key %s; give each its own", e.Part, strings.Join(shown, ", "))
}

// PartPass is a Pass for the objects of one part. Its list requests are for all of them; At says which of them the other
// requests are for.
type PartPass struct {
	*Pass
	plan *partPlan
	// parent are the identifiers of the object that the parts belong to.
	parent map[string]string
}

// Part begins a pass for a part. It shares the budget of the whole. parent is the observed object that the part belongs to,
// nil when it was not read.
func (s *Pass) Part(part Part, parent any) *PartPass {
	for _, path := range s.program.sensitive[celrules.Observed] {
		parent = path.without(parent) // keys and identifiers of parts are shown
	}
	return &PartPass{plan: part.plan, parent: maps.Clone(s.identifiers), Pass: &Pass{
		program: part.plan.program, budget: s.budget, self: s.self, endpoint: s.endpoint, secrets: s.secrets, references: s.references,
		identifiers: maps.Clone(s.identifiers), also: map[celrules.Variable]any{celrules.Parent: parent},
	}}
}

// At makes the requests that follow be for one element: its key, its identifiers as far as they are known, and what the
// custom resource asks for; nil when it asks for it no longer.
func (s *PartPass) At(key string, identifiers map[string]string, element *Element) {
	s.also[celrules.Key] = key
	delete(s.also, celrules.Part)
	s.document = nil
	if element != nil {
		s.also[celrules.Part] = element.value
		s.document = maps.Clone(s.self)
		s.document[string(celrules.Part)] = element.value
	}
	s.identifiers = maps.Clone(s.parent)
	maps.Copy(s.identifiers, identifiers)
}

// Chosen gives the identifiers of an element that do not come from the server.
func (s *PartPass) Chosen(ctx context.Context, key string) (map[string]string, error) {
	s.At(key, nil, nil)
	return s.Identifiers(ctx)
}

// Item is one object in the list of a part.
type Item struct {
	Key string
	// Identifiers are all of the item, those with a value and those that the server assigned.
	Identifiers map[string]string
	// Object is the item itself.
	Object any
}

// Items gives the objects of the part among the items of a list: those that have a key.
func (s *PartPass) Items(ctx context.Context, objects []any) ([]Item, error) {
	if len(objects) > MaxListedItems {
		return nil, &PaginationError{
			s.program.at("operations.list"),
			fmt.Sprintf("the list has more than %d objects; narrow it with a query parameter", MaxListedItems),
		}
	}
	items := make([]Item, 0, len(objects))
	for _, object := range objects {
		item, counts, err := s.item(ctx, object)
		if err != nil {
			return nil, err
		}
		if counts {
			items = append(items, item)
		}
	}
	return items, nil
}

func (s *PartPass) item(ctx context.Context, object any) (item Item, counts bool, err error) {
	s.At("", nil, nil)
	value, present, err := s.evaluate(ctx, s.plan.itemKey, map[celrules.Variable]any{celrules.Item: object})
	if err != nil || !present {
		return Item{}, false, err
	}
	key, ok := formatScalar(value)
	if !ok {
		return Item{}, false, &ExpressionError{Field: s.plan.itemKey.field, Problem: "gives " + kindOf(value) + "; a key is text"}
	}
	chosen, err := s.Chosen(ctx, key)
	if err != nil {
		// An item that could not be addressed cannot be one of ours.
		if unusable := (*IdentifierError)(nil); errors.As(err, &unusable) {
			return Item{}, false, nil
		}
		return Item{}, false, err
	}
	assigned, err := s.AssignedFromItem(ctx, object)
	if err != nil {
		return Item{}, false, err
	}
	maps.Copy(chosen, assigned)
	return Item{Key: key, Identifiers: chosen, Object: object}, true, nil
}

// AssignsIdentifiers tells whether the server chooses part of an object's identity.
func (p Part) AssignsIdentifiers() bool { return p.plan.program.HasAssignedIdentifiers() }

// Assigned gives those of an object's identifiers that the server assigns, as one text; empty when one is not known.
func (p Part) Assigned(identifiers map[string]string) string {
	var values []string
	for _, identifier := range p.plan.program.identifiers {
		if identifier.assigned == nil {
			continue
		}
		value := identifiers[identifier.name]
		if value == "" {
			return ""
		}
		values = append(values, value)
	}
	return strings.Join(values, "\x00")
}
