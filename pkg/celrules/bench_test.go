package celrules

import (
	"testing"
)

func BenchmarkEvaluate(b *testing.B) {
	for name, source := range map[string]string{
		"field":    "self.spec.port",
		"body":     "{'name': self.metadata.name, 'port': self.spec.port, 'enabled': self.spec.enabled}",
		"optional": "self.spec.?description.orValue('none')",
		"list":     "self.spec.tags.map(t, t + 'x')",
	} {
		b.Run(name, func(b *testing.B) {
			x := mustCompile(b, source)
			vars := testVariables()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := x.Evaluate(b.Context(), nil, vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	e := testEnvironment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Compile("{'name': self.metadata.name, 'port': self.spec.port}", everywhere()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewEnvironment(b *testing.B) {
	schema := schemaOf(b, testSchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewEnvironment(Declarations{Self: schema}); err != nil {
			b.Fatal(err)
		}
	}
}
