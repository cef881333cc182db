package mapping

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// outputPlan is one object that values are written into.
type outputPlan struct {
	field, name string
	kind        v1alpha1.OutputKind
	// object gives the object's name; nil for the default.
	object *expression
	// onCreate tells that only the answer to the create holds the values.
	onCreate bool
	// onRotate tells that the answer to a rotation holds new ones.
	onRotate bool
	data     []outputValue
}

type outputValue struct {
	key   string
	value *expression
}

func (c *compiler) compileOutputs() {
	if len(c.spec.Outputs) > 0 && !c.target.Namespaced {
		c.fail("spec.outputs", "%s is cluster-scoped and has no namespace in which an output could be written", c.spec.Target.Kind)
	}
	seen := map[string]bool{}
	for i, output := range c.spec.Outputs {
		field := fmt.Sprintf("spec.outputs[%d]", i)
		c.checkOutput(output, field)
		if seen[output.Name] {
			c.fail(field+".name", "the output %q is declared twice", output.Name)
		}
		seen[output.Name] = true
		plan := outputPlan{
			field: field, name: output.Name, kind: output.Kind, onCreate: slices.Contains(output.Operations, v1alpha1.OnCreate),
			onRotate: slices.Contains(output.Operations, v1alpha1.OnRotate),
			object:   c.compile(output.NameExpression, field+".nameExpression", celrules.StringResult, celrules.Self),
		}
		c.refuseStatus(plan.object)
		source := celrules.Observed
		if plan.onCreate {
			source = celrules.Response
		}
		for _, key := range slices.Sorted(maps.Keys(output.Data)) {
			if len(validation.IsConfigMapKey(key)) > 0 {
				c.fail(field+".data", "%q is not a valid key of a %s", key, output.Kind)
			}
			value := c.require(output.Data[key], fmt.Sprintf("%s.data[%s]", field, key), celrules.ScalarResult,
				source, celrules.Self, celrules.Identifiers, celrules.Endpoint)
			plan.data = append(plan.data, outputValue{key, value})
		}
		c.program.outputs = append(c.program.outputs, plan)
	}
}

// checkRotated: the first value is that of a create, and something must give the others.
func (c *compiler) checkRotated(output v1alpha1.Output, field string) {
	if c.spec.Operations.Rotate == nil {
		c.fail(field+".operations", "the values are those of a rotation, and the mapping has no operations.rotate")
	}
	if !slices.Contains(output.Operations, v1alpha1.OnCreate) {
		c.fail(field+".operations", "Rotate goes together with Create, whose answer holds the first value")
	}
}

func (c *compiler) checkOutput(output v1alpha1.Output, field string) {
	if len(validation.IsDNS1123Label(output.Name)) > 0 {
		c.fail(field+".name", "a name holds lower-case letters, digits and '-', and begins and ends with a letter or digit")
	}
	if output.Kind != v1alpha1.OutputSecret && output.Kind != v1alpha1.OutputConfigMap {
		c.fail(field+".kind", "the kind is Secret or ConfigMap")
	}
	if len(output.Data) == 0 {
		c.fail(field+".data", "give at least one key")
	}
	for _, operation := range output.Operations {
		if operation != v1alpha1.OnCreate && operation != v1alpha1.OnRotate {
			c.fail(field+".operations", "only Create and Rotate can be named here; without operations the values come from each look")
		}
	}
	if slices.Contains(output.Operations, v1alpha1.OnRotate) {
		c.checkRotated(output, field)
	}
	if slices.Contains(output.Operations, v1alpha1.OnCreate) && c.program.operations[rest.Create] == nil {
		c.fail(field+".operations", "the values are those of a create, and the mapping has no operations.create")
	}
	if slices.Contains(output.Operations, v1alpha1.OnCreate) && c.program.Later(rest.Create) > 0 {
		c.fail(field+".operations", "operations.create is async: the answer to the create may come before there is anything to show; take the values from a look, without operations")
	}
}
