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
	known, ok := p.known(m.Name)
	if ok && known.uid == string(m.UID) && known.generation == m.Generation && known.crd == keyOf(t) && slices.Equal(known.references, keys) {
		return known.program, known.err
	}
	program, err := mapping.Compile(m, t.schema, schemas(m, references)...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.results == nil {
		p.results = map[string]compiled{}
	}
	p.results[m.Name] = compiled{generation: m.Generation, uid: string(m.UID), crd: keyOf(t), references: keys, program: program, err: err}
	return program, err
}

func (p *programs) known(name string) (compiled, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.results[name]
	return c, ok
}

func (p *programs) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.results, name)
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
