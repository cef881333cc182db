package mapping

import (
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

func (c *compiler) compileStatus() {
	for i, s := range c.spec.Status {
		field := fmt.Sprintf("spec.status[%d]", i)
		plan := statusPlan{
			to:    c.bodyPath(s.To, field+".to"),
			value: c.require(s.Value, field+".value", celrules.AnyResult, celrules.Observed, celrules.Self, celrules.Refs, celrules.Identifiers, celrules.Endpoint),
		}
		if plan.to != nil {
			plan.schema = c.checkStatusPath(plan.to, field+".to")
		}
		for j, other := range c.program.status {
			c.checkOverlap(plan.to, other.to, field+".to", fmt.Sprintf("spec.status[%d].to", j))
		}
		c.program.status = append(c.program.status, plan)
	}
}

// checkStatusPath checks a path below status and gives its schema where there is one. A CRD without any status is not
// this mapping's mistake: CheckTarget reports it.
func (c *compiler) checkStatusPath(path bodyPath, field string) *apiextensionsv1.JSONSchemaProps {
	if slices.Contains(reservedStatus(), path[0]) {
		c.fail(field, "status.%s is written by the operator itself; choose another name", path[0])
		return nil
	}
	if c.program.statusSchema == nil {
		return nil
	}
	place := lookUp(c.program.statusSchema, path)
	if !place.found() {
		c.fail(field, "status: %s; add it to the CRD, or the API server would drop it", place.problem)
	}
	return place.schema
}

func (c *compiler) compileRules() {
	if r := c.spec.Ready; r != nil {
		x := c.require(r.Expression, "spec.ready.expression", celrules.BoolResult, celrules.Observed, celrules.Self, celrules.Refs, celrules.Identifiers, celrules.Endpoint)
		message := r.Message
		if message == "" {
			message = fmt.Sprintf("the object exists and is not usable yet: %s is false", r.Expression)
		}
		c.program.ready = &readyPlan{holds: x, message: message}
	}
	for i, r := range c.spec.Rules {
		reason := r.Reason
		if reason == "" {
			reason = v1alpha1.ReasonRuleViolated
		}
		x := c.require(r.Expression, fmt.Sprintf("spec.rules[%d].expression", i), celrules.BoolResult, celrules.Self, celrules.Refs)
		c.program.rules = append(c.program.rules, rulePlan{holds: x, reason: reason, message: r.Message})
	}
}

func (c *compiler) compileOutcomes() {
	for i, o := range c.spec.Outcomes {
		field := fmt.Sprintf("spec.outcomes[%d]", i)
		plan := outcomePlan{
			when:    c.require(o.When, field+".when", celrules.BoolResult, c.responseVariables(rest.Read)...),
			outcome: o.Outcome, message: o.Message,
		}
		for _, on := range o.Operations {
			if !slices.Contains(operations(), rest.Operation(on)) {
				c.fail(field+".operations", "the operations are %v", operations())
			}
			plan.on = append(plan.on, rest.Operation(on))
		}
		if !slices.Contains(outcomes(), o.Outcome) {
			c.fail(field+".outcome", "the outcome is one of %v", outcomes())
		}
		c.program.outcomes = append(c.program.outcomes, plan)
	}
}

func operations() []rest.Operation {
	return []rest.Operation{rest.Read, rest.List, rest.Create, rest.Update, rest.Delete, rest.Rotate}
}

func outcomes() []v1alpha1.OutcomeName {
	return []v1alpha1.OutcomeName{
		v1alpha1.OutcomeSuccess, v1alpha1.OutcomeAbsent, v1alpha1.OutcomeConflict,
		v1alpha1.OutcomeWait, v1alpha1.OutcomeRetry, v1alpha1.OutcomeRejected,
	}
}

// The defaults of spec.sync, for mappings that did not pass through the API server.
const (
	defaultInterval          = 10 * time.Minute
	defaultConsistencyWindow = 10 * time.Second
	defaultServerSlack       = 30 * time.Second
)

func (c *compiler) compileSync() {
	c.program.sync = syncPlan{
		interval:          c.duration(c.spec.Sync.Interval.Duration, defaultInterval, "interval"),
		consistencyWindow: c.duration(c.spec.Sync.ConsistencyWindow.Duration, defaultConsistencyWindow, "consistencyWindow"),
		serverSlack:       c.duration(c.spec.Sync.ServerSlack.Duration, defaultServerSlack, "serverSlack"),
	}
}

func (c *compiler) duration(given, usual time.Duration, name string) time.Duration {
	if given < 0 {
		c.fail("spec.sync."+name, "a duration cannot be negative")
	}
	if given == 0 {
		return usual
	}
	return given
}

func (c *compiler) compilePolicy() {
	p := c.spec.Policy
	c.program.policy = v1alpha1.Policy{
		Adoption:   orDefault(p.Adoption, v1alpha1.AdoptNever),
		Deletion:   orDefault(p.Deletion, v1alpha1.DeletionDelete),
		OnMissing:  orDefault(p.OnMissing, v1alpha1.MissingRecreate),
		Drift:      orDefault(p.Drift, v1alpha1.DriftCorrect),
		Immutable:  orDefault(p.Immutable, v1alpha1.ImmutableStall),
		Management: orDefault(p.Management, v1alpha1.ManagementFull),

		ChangeGuard: p.ChangeGuard, DeleteGuard: p.DeleteGuard,
	}
}

// checkReplace refuses a policy that deletes objects which cannot be made again.
func (c *compiler) checkReplace() {
	const field = "spec.policy.immutable"
	o, p := c.spec.Operations, c.program
	if !slices.Contains([]v1alpha1.ImmutablePolicy{v1alpha1.ImmutableStall, v1alpha1.ImmutableReplace}, p.policy.Immutable) {
		c.fail(field, "immutable is Stall or Replace")
	}
	switch {
	case p.policy.Immutable != v1alpha1.ImmutableReplace:
	case o.Create == nil || o.Delete == nil:
		c.fail(field, "Replace deletes the object and makes it anew; declare operations.create and operations.delete, or use Stall")
	case p.policy.Deletion == v1alpha1.DeletionOrphan:
		c.fail(field, "Replace deletes objects, and policy.deletion: Orphan leaves them; choose one")
	case o.Create.Async != nil || o.Delete.Async != nil || len(o.Delete.Before) > 0:
		c.fail(field, "Replace is one delete and one create; it does not go with async, nor with operations.delete.before; use Stall")
	case len(c.spec.Parts) > 0:
		c.fail(field, "Replace does not go with parts: what becomes of them when their object is deleted differs from server to server; use Stall")
	case p.safety == v1alpha1.SafetyNone && o.Create.Safety != v1alpha1.SafetyNone:
		c.fail(field, "Replace would wait for a person, with the old object gone, whenever the answer to a create is lost: "+
			"nothing tells whether the new one was made; declare operations.create.safety: UniqueKey or Marker, or say safety: None yourself")
	}
}

func orDefault[T ~string](given, usual T) T {
	if given == "" {
		return usual
	}
	return given
}
