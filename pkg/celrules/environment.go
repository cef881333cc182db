package celrules

import (
	"fmt"

	"github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Environment compiles the expressions of one mapping. It is immutable and safe for concurrent use.
type Environment struct {
	cel *cel.Env
	// declared are the variables with what is known about their fields.
	declared map[Variable]*schemaType
}

// NewEnvironment makes the environment for a custom resource's schema and the names a mapping declares.
func NewEnvironment(d Declarations) (*Environment, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, fmt.Errorf("CEL function libraries: %w", err)
	}
	declared := declaredTypes(d)
	p := newProvider(base.CELTypeProvider(), base.CELTypeAdapter())
	options := []cel.EnvOption{cel.CustomTypeProvider(p), cel.CustomTypeAdapter(p)}
	for _, variable := range variables() {
		p.register(declared[variable])
		options = append(options, cel.Variable(string(variable), declared[variable].cel))
	}
	env, err := base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("CEL environment: %w", err)
	}
	return &Environment{cel: env, declared: declared}, nil
}

// answer is the type of an HTTP response.
func answer(name Variable) *schemaType {
	return object(string(name), map[string]*schemaType{
		"status": simple(cel.IntType), "headers": mapOf(simple(cel.StringType)), "body": untyped(),
	})
}

// declaredTypes gives every variable its type.
func declaredTypes(d Declarations) map[Variable]*schemaType {
	text := simple(cel.StringType)
	return map[Variable]*schemaType{
		Self:        typeOfResource(string(Self), d.Self),
		Identifiers: stringFields(string(Identifiers), d.Identifiers),
		Secrets:     stringFields(string(Secrets), d.Secrets),
		Response:    answer(Response),
		Operation:   answer(Operation),
		Endpoint: object(string(Endpoint), map[string]*schemaType{
			"name": text, "labels": mapOf(text), "values": mapOf(text),
		}),
		Refs:            typeOfReferences(d.References),
		Observed:        untyped(),
		ObservedHeaders: mapOf(text),
		Item:            untyped(),
		Desired:         untyped(),
		Changed:         untyped(),
	}
}

// typeOfReferences has a field for each reference, with the type of a whole custom resource.
func typeOfReferences(schemas map[string]*apiextensionsv1.JSONSchemaProps) *schemaType {
	fields := make(map[string]*schemaType, len(schemas))
	for name, schema := range schemas {
		fields[name] = typeOfResource(string(Refs)+"."+name, schema)
	}
	return object(string(Refs), fields)
}
