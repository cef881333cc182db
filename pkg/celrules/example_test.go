package celrules_test

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/pkg/celrules"
)

func schema() *apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"owner": text, "description": text}},
	}}
}

func Example() {
	environment, err := celrules.NewEnvironment(celrules.Declarations{Self: schema(), Identifiers: []string{"name"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	expression, err := environment.Compile("{'owner': self.spec.owner, 'name': identifiers.name, ?'text': self.spec.?description}", celrules.Use{
		Field:     "spec.operations.create.bodyExpression",
		Variables: []celrules.Variable{celrules.Self, celrules.Identifiers},
		Result:    celrules.ObjectResult,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, present, err := expression.Evaluate(context.Background(), celrules.NewBudget(0), map[celrules.Variable]any{
		celrules.Self:        map[string]any{"spec": map[string]any{"owner": "acme"}},
		celrules.Identifiers: map[string]string{"name": "website"},
	})
	fmt.Println(body, present, err)
	// Output: map[name:website owner:acme] true <nil>
}

func ExampleEnvironment_Compile_errors() {
	environment, err := celrules.NewEnvironment(celrules.Declarations{Self: schema()})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = environment.Compile("self.spec.ownr + secrets.token", celrules.Use{
		Field:     "spec.operations.read.path",
		Variables: []celrules.Variable{celrules.Self},
	})
	fmt.Println(err)
	// Output:
	// spec.operations.read.path: line 1, column 10: unknown field 'ownr' of self.spec; it has description, owner
	// spec.operations.read.path: line 1, column 18: secrets may not be used here: a secret may only go into request bodies, headers and queries; here an expression may use self
	// spec.operations.read.path: line 1, column 25: unknown field 'token' of secrets; none is declared
}
