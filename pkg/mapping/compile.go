package mapping

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Compile gives a mapping its meaning for one version of its CRD, and of the CRDs that it refers to. The error is an
// *InvalidError with everything that is wrong, so that the author corrects it in one go.
func Compile(m *v1alpha1.RestMapping, t TargetSchema, references ...ReferenceSchema) (*Program, error) {
	c, err := newCompiler(m, t, references)
	if err != nil {
		return nil, err
	}
	c.compileSensitive()
	c.compileTarget()
	c.compileEndpoint()
	c.compileIdentifiers()
	c.compileSecrets()
	c.compileReferences(references)
	c.compileOperations()
	c.compileFields()
	c.checkForms()
	c.compileStatus()
	c.compileOutputs()
	c.compileRules()
	c.compileOutcomes()
	c.compileSync()
	c.compilePolicy()
	c.checkCreateKnowsItsIdentifiers()
	c.warnOfReferencesInDelete()
	c.compileSafety()
	c.compileParts()
	c.checkReplace()
	c.checkSensitive()
	if len(c.errors) > 0 {
		return nil, &InvalidError{Errors: c.errors}
	}
	return c.program, nil
}

// compiler collects the program and its errors.
type compiler struct {
	spec    *v1alpha1.RestMappingSpec
	target  TargetSchema
	env     *celrules.Environment
	program *Program
	errors  []v1alpha1.ExpressionError
	// references are the schemas of what is referred to.
	references map[string]*apiextensionsv1.JSONSchemaProps
	// part is nil for the mapping itself.
	part *partCompiler
}

// at gives the place in the mapping of something below what is compiled.
func (c *compiler) at(what string) string { return c.program.at(what) }

func newCompiler(m *v1alpha1.RestMapping, t TargetSchema, references []ReferenceSchema) (*compiler, error) {
	c := &compiler{spec: &m.Spec, target: t, program: &Program{
		name: m.Name, kind: m.Spec.Target.Kind, generation: m.Generation, place: "spec",
		operations: map[rest.Operation]*operationPlan{}, statusSchema: statusOf(t.Schema),
	}}
	c.references = schemasOf(m.Spec.References, references)
	declarations := celrules.Declarations{Self: t.Schema, References: c.references}
	for _, identifier := range m.Spec.Identifiers {
		declarations.Identifiers = append(declarations.Identifiers, identifier.Name)
	}
	for _, secret := range m.Spec.Secrets {
		declarations.Secrets = append(declarations.Secrets, secret.Name)
	}
	env, err := celrules.NewEnvironment(declarations)
	if err != nil {
		c.fail("spec.target", "the CRD's schema cannot be used for expressions: %v", err)
		return nil, &InvalidError{Errors: c.errors}
	}
	c.env = env
	return c, nil
}

// fail notes an error that belongs to a field as a whole.
func (c *compiler) fail(field, format string, args ...any) {
	c.errors = append(c.errors, v1alpha1.ExpressionError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// failAt notes an error in a path, with its column when it is known.
func (c *compiler) failAt(field string, err error) {
	one := v1alpha1.ExpressionError{Field: field, Message: err.Error()}
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) {
		one.Line, one.Column = 1, int32(min(syntax.column, maxColumn)) //nolint:gosec // bounded on this line
	}
	c.errors = append(c.errors, one)
}

// maxColumn bounds a column so that it fits its type.
const maxColumn = 1 << 20

// compile compiles one expression; nil when it is absent or wrong.
func (c *compiler) compile(source v1alpha1.Expression, field string, result celrules.Result, variables ...celrules.Variable) *expression {
	if source == "" {
		return nil
	}
	use := celrules.Use{Field: field, Result: result}
	for _, variable := range variables {
		if variable == celrules.Secrets {
			use.Secrets = true
		}
		use.Variables = append(use.Variables, variable)
	}
	program, err := c.env.Compile(string(source), use)
	if err != nil {
		c.failCompile(field, err)
		return nil
	}
	for _, warning := range program.Warnings() {
		c.program.warnings = append(c.program.warnings, field+": "+warning)
	}
	return &expression{field: field, program: program}
}

// require is compile for an expression that must be there.
func (c *compiler) require(source v1alpha1.Expression, field string, result celrules.Result, variables ...celrules.Variable) *expression {
	if source == "" {
		c.fail(field, "the expression is missing")
		return nil
	}
	return c.compile(source, field, result, variables...)
}

// failCompile notes every error of one expression.
func (c *compiler) failCompile(field string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			c.failCompile(field, one)
		}
		return
	}
	one := v1alpha1.ExpressionError{Field: field, Message: err.Error()}
	if compile := (*celrules.CompileError)(nil); errors.As(err, &compile) {
		one.Message = compile.Message
		one.Line, one.Column = int32(min(compile.Line, maxColumn)), int32(min(compile.Column, maxColumn)) //nolint:gosec // bounded on this line
	}
	c.errors = append(c.errors, one)
}

// uses tells whether an expression names something below a variable; a nil expression does not.
func (x *expression) uses(variable celrules.Variable, path ...string) bool {
	return x != nil && x.program.UsesPath(variable, path...)
}
