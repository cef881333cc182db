package mapping

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Output is one object that values are written into, as far as it is known without a custom resource.
type Output struct {
	// Name is the output's, Kind the object's.
	Name string
	Kind v1alpha1.OutputKind
	// OnCreate tells that only the answer to the create holds the values.
	OnCreate bool
	// OnRotate tells that the answer to a rotation holds new ones.
	OnRotate bool
	// Keys are those that the mapping declares, sorted.
	Keys []string

	plan *outputPlan
}

// Outputs are the mapping's outputs, in its order.
func (p *Program) Outputs() []Output {
	outputs := make([]Output, len(p.outputs))
	for i := range p.outputs {
		plan := &p.outputs[i]
		outputs[i] = Output{Name: plan.name, Kind: plan.kind, OnCreate: plan.onCreate, OnRotate: plan.onRotate, plan: plan}
		for _, value := range plan.data {
			outputs[i].Keys = append(outputs[i].Keys, value.key)
		}
	}
	return outputs
}

// OutputObject gives the name of the object that an output is written into, for a custom resource.
func (p *Program) OutputObject(ctx context.Context, output Output, self map[string]any) (string, error) {
	x := output.plan.object
	if x == nil {
		own, _ := bodyPath{"metadata", "name"}.get(self)
		name, _ := own.(string)
		return checkedName(output.plan.field, name+"-"+output.Name)
	}
	value, present, err := evaluate(ctx, celrules.NewBudget(0), x, map[celrules.Variable]any{celrules.Self: self})
	if err != nil {
		return "", err
	}
	name, ok := value.(string)
	if !present || !ok || name == "" {
		return "", &ExpressionError{Field: x.field, Problem: "gives no name for the object of this output"}
	}
	return checkedName(x.field, name)
}

func checkedName(field, name string) (string, error) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", &ExpressionError{Field: field, Problem: "gives no valid name of an object: " + strings.Join(problems, "; ")}
	}
	return name, nil
}

// CreatedData gives the values of an output that only the answer to the create, or to a rotation, holds. Those that could be found are given
// together with the error about the others: nothing of that answer can be asked for again.
func (s *Pass) CreatedData(ctx context.Context, output Output, resp *rest.Response) (map[string]string, error) {
	return s.outputData(ctx, output, responseVariable(resp))
}

// ObservedData gives the values of an output that come from each look.
func (s *Pass) ObservedData(ctx context.Context, output Output, observed any) (map[string]string, error) {
	data, err := s.outputData(ctx, output, s.observedVariables(observed))
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (s *Pass) outputData(ctx context.Context, output Output, variables map[celrules.Variable]any) (map[string]string, error) {
	if output.Kind != v1alpha1.OutputSecret {
		variables = s.program.sensitive.shown(variables)
	}
	data := map[string]string{}
	var problems []error
	for _, plan := range output.plan.data {
		value, present, err := s.evaluate(ctx, plan.value, variables)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if !present {
			continue
		}
		text, ok := formatScalar(value)
		if !ok {
			problems = append(problems, &ExpressionError{Field: plan.value.field, Problem: "gives " + kindOf(value) + " where text, a number or a boolean is needed"})
			continue
		}
		data[plan.key] = text
	}
	return data, errors.Join(problems...)
}
