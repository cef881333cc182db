package celrules

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Environment compiles the expressions of one mapping. It is immutable and safe for concurrent use.
type Environment struct {
	cel *cel.Env
	// declared are the variables with what is known about their fields.
	declared map[Variable]*schemaType
	// objects are the object types of the declared variables by name.
	objects map[string]*schemaType
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
	return &Environment{cel: env, declared: declared, objects: p.byName}, nil
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
		Part:            elementOf(d.Parts),
		Key:             text,
		Parent:          untyped(),
	}
}

// elementOf gives the type of the elements of the list that an expression gives.
func elementOf(list *Expression) *schemaType {
	if list == nil || list.element == nil {
		return untyped()
	}
	return list.element
}

// elementType gives the type of a list's elements with what is known of its fields; untyped for everything else.
func (e *Environment) elementType(list *cel.Type) *schemaType {
	list = withoutOptional(list)
	if list.Kind() != types.ListKind {
		return untyped()
	}
	switch element := list.Parameters()[0]; element.Kind() {
	case types.StructKind:
		if known, ok := e.objects[element.TypeName()]; ok {
			return known
		}
		return untyped()
	case types.StringKind, types.BoolKind, types.IntKind, types.DoubleKind:
		return simple(element)
	default:
		return untyped()
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
