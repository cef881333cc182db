package mapping

import (
	"slices"
	"sync"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// programs remembers what was compiled, so that nothing is compiled, and no schema read, twice for the same mapping
// generation and the same CRD. The zero value is ready to use.
type programs struct {
	mu      sync.Mutex
	results map[string]compiled
	// formers are what was compiled of the generations that were accepted last, where a newer one is not.
	formers map[string]compiled
	schemas map[schemaKey]mapping.TargetSchema
}

type compiled struct {
	generation int64
	uid        string
	crd        schemaKey
	references []schemaKey
	program    *mapping.Program
	err        error
}

type schemaKey struct {
	uid        string
	generation int64
	version    string
}

// maxSchemas bounds the schemas that are kept: one for each kind in use, with room for changes.
const maxSchemas = 1024

func keyOf(t target) schemaKey {
	return schemaKey{uid: t.uid, generation: t.generation, version: t.gvr.Version}
}

// compile gives the program of this generation. The error is a *mapping.InvalidError.
func (p *programs) compile(m *v1alpha1.RestMapping, t target, references []reference) (*mapping.Program, error) {
	keys := make([]schemaKey, len(references))
	for i := range references {
		keys[i] = keyOf(references[i].target)
	}
	wanted := compiled{generation: m.Generation, uid: string(m.UID), crd: keyOf(t), references: keys}
	if known, ok := p.find(m.Name, wanted); ok {
		return known.program, known.err
	}
	wanted.program, wanted.err = mapping.Compile(m, t.schema, schemas(m, references)...)
	p.keep(m.Name, m.Status.AcceptedGeneration, wanted)
	return wanted.program, wanted.err
}

// same tells that both were compiled from the same.
func (c compiled) same(other compiled) bool {
	return c.uid == other.uid && c.generation == other.generation && c.crd == other.crd && slices.Equal(c.references, other.references)
}

func (p *programs) find(name string, wanted compiled) (compiled, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range []compiled{p.results[name], p.formers[name]} {
		if known.same(wanted) {
			return known, true
		}
	}
	return compiled{}, false
}

// keep remembers two generations of a mapping: the newest, and the one that was accepted last.
func (p *programs) keep(name string, accepted int64, c compiled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.results == nil {
		p.results, p.formers = map[string]compiled{}, map[string]compiled{}
	}
	newest := p.results[name]
	switch {
	case c.generation == accepted && newest.uid == c.uid && newest.generation > accepted:
		p.formers[name] = c
	case newest.generation == accepted && newest.uid == c.uid && c.generation > accepted:
		p.formers[name], p.results[name] = newest, c
	default:
		p.results[name] = c
	}
}

func (p *programs) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.results, name)
	delete(p.formers, name)
}

func (p *programs) schema(t target) (mapping.TargetSchema, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.schemas[keyOf(t)]
	return s, ok
}

func (p *programs) keepSchema(t target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schemas == nil || len(p.schemas) >= maxSchemas {
		p.schemas = map[schemaKey]mapping.TargetSchema{}
	}
	for key := range p.schemas {
		if key.uid == t.uid && key.version == t.gvr.Version {
			delete(p.schemas, key)
		}
	}
	p.schemas[keyOf(t)] = t.schema
}
