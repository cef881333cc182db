package mapping

import (
	"fmt"
	"slices"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

func (c *compiler) compileFields() {
	for i := range c.spec.Fields {
		c.compileField(&c.spec.Fields[i], c.at(fmt.Sprintf("fields[%d]", i)))
	}
}

func (c *compiler) compileField(f *v1alpha1.Field, field string) {
	plan := fieldPlan{
		field: field, written: f.To, compare: f.Compare, key: f.Key, nulls: orDefault(f.Nulls, v1alpha1.NullsOmit),
		writeOnly: f.WriteOnly, always: f.Always, immutable: f.Immutable,
		onCreate: len(f.Operations) == 0 || slices.Contains(f.Operations, v1alpha1.OnCreate),
		onUpdate: len(f.Operations) == 0 || slices.Contains(f.Operations, v1alpha1.OnUpdate),
	}
	if plan.compare == "" {
		plan.compare = v1alpha1.CompareExact
	}
	if !slices.Contains(comparisons(), plan.compare) {
		c.fail(field+".compare", "the comparison is one of %v", comparisons())
	}
	if !slices.Contains([]v1alpha1.Nulls{v1alpha1.NullsOmit, v1alpha1.NullsSend, v1alpha1.NullsRemove}, plan.nulls) {
		c.fail(field+".nulls", "nulls is Omit, Send or Remove")
	}
	if (plan.compare == v1alpha1.CompareMapByKey) != (f.Key != "") {
		c.fail(field+".key", "key and compare: MapByKey go together: the name of the key that tells the objects of the list apart")
	}
	if (f.From == "") == (f.Value == "") {
		c.fail(field, "give exactly one of from and value")
	}
	plan.from = c.from(f.From, field+".from")
	plan.value = c.compile(f.Value, field+".value", celrules.AnyResult, c.requestVariables(rest.Update)...)
	c.checkFieldValue(plan.value, f)
	plan.to = c.bodyPath(f.To, field+".to")
	plan.observedAt = plan.to
	if f.ObservedAt != "" {
		plan.observedAt = c.bodyPath(f.ObservedAt, field+".observedAt")
	}
	if f.ObservedAt != "" && f.WriteOnly {
		c.fail(field+".observedAt", "a writeOnly field is never read back; remove observedAt or writeOnly")
	}
	c.checkFieldOverlap(plan.to, field+".to")
	c.checkFieldSending(&plan)
	plan.hidden = c.hidden(&plan)
	c.program.fields = append(c.program.fields, plan)
}

func comparisons() []v1alpha1.Compare {
	return []v1alpha1.Compare{
		v1alpha1.CompareExact, v1alpha1.CompareWhole, v1alpha1.CompareStrict, v1alpha1.CompareSet, v1alpha1.CompareMapByKey,
		v1alpha1.CompareCaseInsensitive, v1alpha1.CompareNumber, v1alpha1.CompareQuantity, v1alpha1.CompareTimestamp, v1alpha1.CompareIgnore,
	}
}

// checkFieldSending refuses what says at once that a field is sent and that it is not.
func (c *compiler) checkFieldSending(f *fieldPlan) {
	switch {
	case f.immutable && f.writeOnly:
		c.fail(f.field+".immutable", "nobody can see whether a writeOnly field was changed; remove immutable or writeOnly")
	case f.immutable && f.compare == v1alpha1.CompareIgnore:
		c.fail(f.field+".immutable", "a field that is never compared is never seen to change; remove immutable or compare: Ignore")
	case f.immutable && !f.onCreate:
		c.fail(f.field+".immutable", "an immutable field is sent on create; add Create to operations")
	case f.always && !f.onUpdate:
		c.fail(f.field+".always", "always is about updates; add Update to operations")
	}
	c.checkFieldBody(f)
}

// checkFieldBody refuses what the body of the update cannot say.
func (c *compiler) checkFieldBody(f *fieldPlan) {
	update := c.program.operations[rest.Update]
	if update == nil || !f.onUpdate || !update.sendsFields() {
		return
	}
	patches := update.body == v1alpha1.BodyJSONPatch
	switch {
	case patches && f.always:
		c.fail(f.field+".always", "a JSONPatch holds what differs and nothing else; remove always, or choose another body")
	case patches && f.writeOnly && f.nulls == v1alpha1.NullsRemove:
		c.fail(f.field+".nulls", "a JSONPatch can only remove what is there, and nobody can see whether a writeOnly field is; use nulls: Send")
	case update.body == v1alpha1.BodyChanged && update.encoding == v1alpha1.EncodingForm && f.nulls == v1alpha1.NullsRemove:
		c.fail(f.field+".nulls", "a form cannot hold null, so a Changed form cannot remove anything; use body: Desired, or send the empty text with a value such as self.spec.?name.orValue('')")
	}
	for i, path := range update.carry {
		c.checkOverlap(f.to, path, f.field+".to", fmt.Sprintf("%s.carry[%d]", update.field, i))
	}
	for i, path := range update.strip {
		if f.to != nil && f.to.startsWith(path) {
			c.fail(f.field+".to", "%s is sent by this field and left out by %s.strip[%d]; remove one of the two", f.to, update.field, i)
		}
	}
}

func (c *compiler) checkFieldValue(value *expression, f *v1alpha1.Field) {
	c.refuseStatus(value)
	if value.uses(celrules.Secrets) && !f.WriteOnly {
		c.fail(value.field, "the value comes from a Secret and must never be compared or shown; set writeOnly: true on this field")
	}
}

// from compiles the path of a field of the custom resource.
func (c *compiler) from(source, field string) bodyPath {
	if source == "" {
		return nil
	}
	path, err := parseBodyPath(source)
	if err != nil {
		c.failAt(field, err)
		return nil
	}
	switch {
	case path[0] == string(celrules.Part) && c.part != nil:
		c.fromPart(path, field)
	case path[0] == "metadata":
		if problem := metadataProblem(path); problem != "" {
			c.fail(field, "%s", problem)
		}
	case path[0] == "status":
		c.fail(field, "status is written by the operator and may be lost; what is wanted can depend on spec and metadata only")
	case path[0] == "apiVersion" || path[0] == "kind" || c.target.Schema == nil:
	default:
		if place := lookUp(c.target.Schema, path); !place.found() {
			c.fail(field, "%s", place.problem)
		}
	}
	return path
}

// metadataProblem checks a path into metadata, which no CRD spells out. What changes without the custom resource's
// author is left out: it would look like a wish.
func metadataProblem(path bodyPath) string {
	stable := []string{"name", "namespace", "uid", "labels", "annotations", "creationTimestamp"}
	switch {
	case len(path) == 1 || !slices.Contains(stable, path[1]):
		return fmt.Sprintf("below metadata a value can come from %v", stable)
	case len(path) > 3 || len(path) == 3 && path[1] != "labels" && path[1] != "annotations":
		return fmt.Sprintf("metadata.%s has no such field", path[1])
	}
	return ""
}

// bodyPath compiles a path in a body or an observed object; nil when it is wrong.
func (c *compiler) bodyPath(source, field string) bodyPath {
	path, err := parseBodyPath(source)
	if err != nil {
		c.failAt(field, err)
		return nil
	}
	return path
}

// checkFieldOverlap refuses two fields for one place: the one that came last would win silently.
func (c *compiler) checkFieldOverlap(path bodyPath, field string) {
	for i, other := range c.program.fields {
		c.checkOverlap(path, other.to, field, c.at(fmt.Sprintf("fields[%d].to", i)))
	}
}

func (c *compiler) checkOverlap(path, other bodyPath, field, otherField string) {
	switch {
	case path == nil || other == nil:
	case slices.Equal(path, other):
		c.fail(field, "%s is filled by %s already", path, otherField)
	case path.startsWith(other), other.startsWith(path):
		c.fail(field, "%s and %s of %s lie within one another; give the whole object in one field, or each of its keys in its own", path, other, otherField)
	}
}

// checkCreateKnowsItsIdentifiers refuses a create that needs what only its response gives.
func (c *compiler) checkCreateKnowsItsIdentifiers() {
	plan := c.program.operations[rest.Create]
	if plan == nil {
		return
	}
	for _, name := range plan.path.parameters() {
		if assigned, _ := c.program.isAssigned(name); assigned {
			c.fail(plan.field+".path", "the identifier {%s} is assigned by the response of this very request, so the path cannot hold it", name)
		}
	}
	for _, x := range createExpressions(c.program, plan) {
		for _, identifier := range c.program.identifiers {
			if identifier.assigned != nil && x.uses(celrules.Identifiers, identifier.name) {
				c.fail(x.field, "identifiers.%s is assigned by the create response and not known before; limit the field to operations: [Update], or leave it out of create",
					identifier.name)
			}
		}
	}
}

// createExpressions lists what is evaluated to build the create request.
func createExpressions(p *Program, plan *operationPlan) []*expression {
	list := []*expression{plan.bodyFrom}
	for _, parameter := range slices.Concat(plan.query, plan.headers) {
		list = append(list, parameter.value)
	}
	if plan.sendsDesired() {
		for i := range p.fields {
			if p.fields[i].onCreate {
				list = append(list, p.fields[i].value)
			}
		}
	}
	return list
}

// sendsDesired tells whether the fields reach the body.
func (o *operationPlan) sendsDesired() bool {
	if o.bodyFrom != nil {
		return o.bodyFrom.uses(celrules.Desired)
	}
	return o.body != v1alpha1.BodyNone
}
