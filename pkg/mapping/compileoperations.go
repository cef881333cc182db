package mapping

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// requestVariables are what every request may use. Secrets may go into queries, headers and bodies, never into paths:
// those hold identifiers only.
func (c *compiler) requestVariables(operation rest.Operation, more ...celrules.Variable) []celrules.Variable {
	common := []celrules.Variable{celrules.Self, celrules.Refs, celrules.Identifiers, celrules.Endpoint, celrules.Secrets}
	return slices.Concat(common, c.partVariables(operation), more)
}

// responseVariables are what may be used to take something from a response.
func (c *compiler) responseVariables(operation rest.Operation) []celrules.Variable {
	return slices.Concat([]celrules.Variable{celrules.Response, celrules.Self, celrules.Refs, celrules.Identifiers, celrules.Endpoint}, c.partVariables(operation))
}

func (c *compiler) compileOperations() {
	o := c.spec.Operations
	if o.Read == nil && o.List == nil {
		c.fail(c.at("operations"), "at least one of read and list is needed, or the object outside can never be observed")
	}
	if o.Read != nil {
		c.compileRead(o.Read)
	}
	if o.List != nil {
		c.compileList(o.List)
	}
	if o.Create != nil {
		c.compileCreate(o.Create)
	}
	if o.Update != nil {
		c.compileUpdate(o.Update)
	}
	if o.Delete != nil {
		c.compileDelete(o.Delete)
	}
	if o.Rotate != nil {
		c.compileRotate(o.Rotate)
	}
}

func (c *compiler) compileRead(o *v1alpha1.ReadOperation) {
	plan := c.template(rest.Read, &o.RequestTemplate)
	c.method(plan, o.Method, http.MethodGet, http.MethodGet, http.MethodPost)
	c.bodyFrom(plan, o.BodyExpression, c.requestVariables(plan.operation)...)
	plan.selected = c.compile(o.Select, plan.field+".select", celrules.AnyResult, c.responseVariables(plan.operation)...)
}

func (c *compiler) compileCreate(o *v1alpha1.CreateOperation) {
	plan := c.template(rest.Create, &o.RequestTemplate)
	c.lock(plan, o.Lock)
	c.method(plan, o.Method, http.MethodPost, http.MethodPost, http.MethodPut, http.MethodPatch)
	plan.body = c.bodyMode(plan, o.Body, v1alpha1.BodyDesired, v1alpha1.BodyDesired, v1alpha1.BodyNone)
	c.bodyFrom(plan, o.BodyExpression, c.requestVariables(plan.operation, celrules.Desired)...)
	c.exclusiveBody(plan, o.Body)
	plan.selected = c.compile(o.Select, plan.field+".select", celrules.AnyResult, c.responseVariables(plan.operation)...)
	plan.async = c.async(o.Async, plan)
	plan.key = c.idempotency(plan, o)
}

func (c *compiler) compileUpdate(o *v1alpha1.UpdateOperation) {
	plan := c.template(rest.Update, &o.RequestTemplate, celrules.Observed, celrules.ObservedHeaders)
	c.lock(plan, o.Lock)
	c.method(plan, o.Method, http.MethodPut, http.MethodPut, http.MethodPatch, http.MethodPost)
	usual := v1alpha1.BodyDesired
	if plan.method == http.MethodPatch {
		usual = v1alpha1.BodyChanged
	}
	plan.body = c.bodyMode(plan, o.Body, usual, v1alpha1.BodyDesired, v1alpha1.BodyChanged, v1alpha1.BodyOverlay,
		v1alpha1.BodyJSONPatch, v1alpha1.BodyNone)
	c.bodyFrom(plan, o.BodyExpression, c.requestVariables(plan.operation, celrules.Desired, celrules.Changed, celrules.Observed, celrules.ObservedHeaders)...)
	c.exclusiveBody(plan, o.Body)
	c.editBody(plan, o)
	plan.selected = c.compile(o.Select, plan.field+".select", celrules.AnyResult, c.responseVariables(plan.operation)...)
	plan.async = c.async(o.Async, plan)
}

func (c *compiler) compileRotate(o *v1alpha1.RotateOperation) {
	plan := c.template(rest.Rotate, &o.RequestTemplate, celrules.Observed, celrules.ObservedHeaders)
	c.lock(plan, o.Lock)
	c.method(plan, o.Method, http.MethodPost, http.MethodPost, http.MethodPut, http.MethodPatch)
	c.bodyFrom(plan, o.BodyExpression, c.requestVariables(plan.operation, celrules.Observed, celrules.ObservedHeaders)...)
	c.program.rotateEvery = o.Interval.Duration
	if every := c.program.rotateEvery; every != 0 && every < minRotation {
		c.fail(plan.field+".interval", "a value is kept for %s at least", minRotation)
	}
	if !slices.ContainsFunc(c.spec.Outputs, func(o v1alpha1.Output) bool { return slices.Contains(o.Operations, v1alpha1.OnRotate) }) {
		c.fail(plan.field, "nothing takes the new value; add an output with operations: [Create, Rotate]")
	}
}

// minRotation bounds how often a value is rotated.
const minRotation = time.Hour

func (c *compiler) compileDelete(o *v1alpha1.DeleteOperation) {
	plan := c.template(rest.Delete, &o.RequestTemplate, celrules.Observed, celrules.ObservedHeaders)
	c.lock(plan, o.Lock)
	c.method(plan, o.Method, http.MethodDelete, http.MethodDelete, http.MethodPost, http.MethodPut, http.MethodPatch)
	c.bodyFrom(plan, o.BodyExpression, c.requestVariables(plan.operation, celrules.Observed, celrules.ObservedHeaders)...)
	plan.async = c.async(o.Async, plan)
	for i := range o.Before {
		c.compileStep(plan, i, &o.Before[i])
	}
}

// compileStep compiles a request that is sent before the delete.
func (c *compiler) compileStep(of *operationPlan, i int, o *v1alpha1.DeleteStep) {
	field := fmt.Sprintf("%s.before[%d]", of.field, i)
	plan := c.templateAt(rest.Delete, field, &o.RequestTemplate, celrules.Observed, celrules.ObservedHeaders)
	c.method(plan, o.Method, http.MethodPost, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)
	c.bodyFrom(plan, o.BodyExpression, c.requestVariables(plan.operation, celrules.Observed, celrules.ObservedHeaders)...)
	when := c.require(o.When, field+".when", celrules.BoolResult, celrules.Observed, celrules.Self, celrules.Identifiers)
	of.before = append(of.before, stepPlan{when: when, request: plan})
}

// template compiles what every operation has. more are variables that only some operations know.
func (c *compiler) template(operation rest.Operation, t *v1alpha1.RequestTemplate, more ...celrules.Variable) *operationPlan {
	plan := c.templateAt(operation, c.at("operations."+strings.ToLower(string(operation))), t, more...)
	c.program.operations[operation] = plan
	return plan
}

func (c *compiler) templateAt(operation rest.Operation, field string, t *v1alpha1.RequestTemplate, more ...celrules.Variable) *operationPlan {
	plan := &operationPlan{
		operation: operation, field: field,
		accept: t.Accept, body: v1alpha1.BodyNone, contentType: t.ContentType, encoding: orDefault(t.Encoding, v1alpha1.EncodingJSON),
	}
	plan.path = c.path(t.Path, plan.field+".path")
	plan.query = c.query(t.Query, plan.field+".query", c.requestVariables(operation, more...))
	plan.headers = c.headers(t.Headers, plan.field+".headers", c.requestVariables(operation, more...))
	if t.Accept != "" && !isHeaderValue(t.Accept) {
		c.fail(plan.field+".accept", "the value cannot stand in a header")
	}
	return plan
}

// lock compiles the key of writes that go one after the other. It knows what every write of the custom resource knows, so
// that its key does not change between them, and no secret.
func (c *compiler) lock(plan *operationPlan, source v1alpha1.Expression) {
	plan.lock = c.compile(source, plan.field+".lock", celrules.StringResult, celrules.Self, celrules.Identifiers)
	c.refuseStatus(plan.lock)
}

// path compiles a path. A wrong one is replaced by / so that the rest can still be checked.
func (c *compiler) path(source, field string) *pathTemplate {
	t, err := parsePathTemplate(source)
	if err != nil {
		c.failAt(field, err)
		return &pathTemplate{source: source, segments: [][]pathPiece{nil}}
	}
	for _, name := range t.parameters() {
		if !c.program.declares(name) {
			c.fail(field, "the parameter {%s} has no identifier of that name; declare it in %s", name, c.at("identifiers"))
		}
	}
	return t
}

func (c *compiler) method(plan *operationPlan, given, usual string, allowed ...string) {
	plan.method = given
	if given == "" {
		plan.method = usual
	}
	if !slices.Contains(allowed, plan.method) {
		c.fail(plan.field+".method", "the method is one of %s", strings.Join(allowed, ", "))
	}
}
