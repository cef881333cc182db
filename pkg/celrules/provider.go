package celrules

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// provider tells CEL the fields of our object types, and leaves everything else to CEL's own registry.
// Fields are found by their real names, so that keywords and names with dashes need no escaping.
type provider struct {
	types.Provider
	types.Adapter

	byName map[string]*schemaType
}

// newProvider puts the object types of the given trees in front of the registry.
func newProvider(registry types.Provider, adapter types.Adapter, roots ...*schemaType) *provider {
	p := &provider{Provider: registry, Adapter: adapter, byName: map[string]*schemaType{}}
	for _, root := range roots {
		p.register(root)
	}
	return p
}

func (p *provider) register(t *schemaType) {
	if t.elem != nil {
		p.register(t.elem)
	}
	if t.fields == nil {
		return
	}
	p.byName[t.cel.TypeName()] = t
	for _, field := range t.fields {
		p.register(field)
	}
}

// FindStructType finds an object type by name.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t, ok := p.byName[name]; ok {
		return types.NewTypeTypeWithParam(t.cel), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames lists the fields of an object type.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t, ok := p.byName[name]; ok {
		return slices.Sorted(maps.Keys(t.fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType finds a field of an object type. An open object has every field.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	t, ok := p.byName[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	f, ok := t.fields[field]
	if !ok {
		return &types.FieldType{Type: types.DynType}, t.open
	}
	// Without accessors CEL reads the field from the raw map by its name, which is the fastest way.
	return &types.FieldType{Type: f.cel}, true
}

// NewValue refuses to construct an object type: expressions write maps.
func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.byName[name]; ok {
		return types.NewErr("objects are written as maps")
	}
	return p.Provider.NewValue(name, fields)
}
