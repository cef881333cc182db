package mapping

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

func (c *compiler) bodyMode(plan *operationPlan, given, usual v1alpha1.BodyMode, allowed ...v1alpha1.BodyMode) v1alpha1.BodyMode {
	switch {
	case given == "" && !c.sendsFields(plan.operation):
		return v1alpha1.BodyNone // {} would be refused by servers that expect no body
	case given == "":
		return usual
	case !slices.Contains(allowed, given):
		c.fail(plan.field+".body", "%s cannot be used here", given)
	}
	return given
}

func (c *compiler) sendsFields(operation rest.Operation) bool {
	return slices.ContainsFunc(c.spec.Fields, func(f v1alpha1.Field) bool {
		return len(f.Operations) == 0 || slices.Contains(f.Operations, v1alpha1.FieldEvent(operation))
	})
}

// bodyFrom compiles a body expression and settles encoding and media type.
func (c *compiler) bodyFrom(plan *operationPlan, source v1alpha1.Expression, variables ...celrules.Variable) {
	plan.bodyFrom = c.compile(source, plan.field+".bodyExpression", bodyResult(plan.encoding), variables...)
	if source != "" && plan.method == http.MethodGet {
		c.fail(plan.field+".bodyExpression", "a GET request has no body (RFC 9110, section 9.3.1); use method POST")
	}
	if source == "" && plan.body == v1alpha1.BodyNone {
		c.refuseBodyOptions(plan)
		return
	}
	if plan.encoding == v1alpha1.EncodingRaw && source == "" {
		c.fail(plan.field+".encoding", "Raw sends the text or the bytes that bodyExpression gives; add bodyExpression")
	}
	c.contentType(plan)
}

// bodyResult is what a body expression must give.
func bodyResult(encoding v1alpha1.Encoding) celrules.Result {
	switch encoding {
	case v1alpha1.EncodingForm, v1alpha1.EncodingMultipart:
		return celrules.ObjectResult
	case v1alpha1.EncodingRaw:
		return celrules.RawResult
	default:
		return celrules.AnyResult
	}
}

// refuseBodyOptions refuses what only a body can have.
func (c *compiler) refuseBodyOptions(plan *operationPlan) {
	if plan.contentType != "" {
		c.fail(plan.field+".contentType", "the request has no body; remove contentType, or say what the body is")
	}
	if plan.encoding != v1alpha1.EncodingJSON {
		c.fail(plan.field+".encoding", "the request has no body; remove encoding, or say what the body is")
	}
}

// The media types of bodies, unless the mapping says otherwise. The first is also what is asked for.
const (
	defaultMediaType = "application/json"
	patchMediaType   = "application/json-patch+json"
	formMediaType    = "application/x-www-form-urlencoded"
	multipartType    = "multipart/form-data"
)

func usualJSONType(plan *operationPlan) string {
	if plan.body == v1alpha1.BodyJSONPatch {
		return patchMediaType
	}
	return defaultMediaType
}

// contentType checks the media type of a body against its encoding, or gives the usual one.
func (c *compiler) contentType(plan *operationPlan) {
	field := plan.field + ".contentType"
	mediaType, _, err := mime.ParseMediaType(plan.contentType)
	given := plan.contentType != ""
	switch plan.encoding {
	case v1alpha1.EncodingForm:
		if given && (err != nil || mediaType != formMediaType) {
			c.fail(field, "a Form has the type %s; remove contentType", formMediaType)
		}
		if plan.body == v1alpha1.BodyJSONPatch {
			c.fail(plan.field+".encoding", "a JSONPatch is JSON; remove encoding")
		}
		plan.contentType = orDefault(plan.contentType, formMediaType)
	case v1alpha1.EncodingMultipart:
		if given {
			c.fail(field, "Multipart has the type %s with a boundary of its own; remove contentType", multipartType)
		}
		if plan.body == v1alpha1.BodyJSONPatch {
			c.fail(plan.field+".encoding", "a JSONPatch is JSON; remove encoding")
		}
		plan.contentType = multipartType
	case v1alpha1.EncodingRaw:
		if err != nil {
			c.fail(field, "Raw needs a media type, such as text/plain; charset=utf-8")
		}
	case v1alpha1.EncodingJSON:
		if given && (err != nil || !isJSONType(mediaType)) {
			c.fail(field, "bodies are JSON: the type is application/json or ends in +json; for others set encoding to Form, Multipart or Raw")
		}
		plan.contentType = orDefault(plan.contentType, usualJSONType(plan))
	default:
		c.fail(plan.field+".encoding", "the encoding is JSON, Form, Multipart or Raw")
	}
}

// checkForms refuses fields that a form cannot hold, as far as that is known before a value is.
func (c *compiler) checkForms() {
	for _, operation := range []rest.Operation{rest.Create, rest.Update} {
		plan := c.program.operations[operation]
		if plan == nil || plan.encoding != v1alpha1.EncodingForm || !plan.sendsFields() {
			continue
		}
		for i := range c.program.fields {
			if f := &c.program.fields[i]; f.on(operation) {
				c.checkFormField(plan, f)
			}
		}
	}
}

func (c *compiler) checkFormField(plan *operationPlan, f *fieldPlan) {
	if len(f.to) > 1 {
		c.fail(f.field+".to", `%s sends a form, which has no objects inside; give one name, such as ["a.b"], or build the form with bodyExpression`, plan.field)
	}
	if f.nulls == v1alpha1.NullsSend {
		c.fail(f.field+".nulls", "%s sends a form, which cannot hold null; give the empty text with a value such as self.spec.?name.orValue('')", plan.field)
	}
	if f.from == nil || c.target.Schema == nil {
		return
	}
	if place := lookUp(c.target.Schema, f.from); place.schema != nil && place.schema.Type == "object" {
		c.fail(f.field+".from", "%s sends a form, which has no objects inside, and this is an object; map each of its keys, or use value with toJSON(...)", plan.field)
	}
}

// sendsFields tells whether the body is made of the fields alone.
func (o *operationPlan) sendsFields() bool { return o.bodyFrom == nil && o.body != v1alpha1.BodyNone }

// editBody compiles what is taken over from the observed object, or left out of it.
func (c *compiler) editBody(plan *operationPlan, o *v1alpha1.UpdateOperation) {
	plan.carry = c.bodyPaths(o.Carry, plan.field+".carry")
	plan.strip = c.bodyPaths(o.Strip, plan.field+".strip")
	switch {
	case len(o.Carry) > 0 && plan.bodyFrom != nil:
		c.fail(plan.field+".carry", "carry goes with body; in a bodyExpression write merge(desired, {'version': observed.version})")
	case len(o.Carry) > 0 && plan.body != v1alpha1.BodyDesired && plan.body != v1alpha1.BodyChanged:
		c.fail(plan.field+".carry", "carry is for the bodies Desired and Changed, and this one is %s; an Overlay holds everything that was read, and a JSONPatch tests it", plan.body)
	}
	switch {
	case len(o.Strip) > 0 && plan.bodyFrom != nil:
		c.fail(plan.field+".strip", "strip goes with body; in a bodyExpression write omit(merge(observed, desired), ['updated_at'])")
	case len(o.Strip) > 0 && plan.body != v1alpha1.BodyOverlay:
		c.fail(plan.field+".strip", "strip is for the body Overlay; the other bodies hold nothing that the fields do not name")
	}
	for i, path := range plan.carry {
		if plan.encoding == v1alpha1.EncodingForm && len(path) > 1 {
			c.fail(fmt.Sprintf("%s.carry[%d]", plan.field, i), "a form has no objects inside; give one name")
		}
	}
}

func (c *compiler) bodyPaths(sources []string, field string) []bodyPath {
	var paths []bodyPath
	for i, source := range sources {
		if path := c.bodyPath(source, fmt.Sprintf("%s[%d]", field, i)); path != nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func (c *compiler) exclusiveBody(plan *operationPlan, given v1alpha1.BodyMode) {
	if plan.bodyFrom != nil && given != "" {
		c.fail(plan.field, "give at most one of body and bodyExpression")
	}
}

func isJSONType(mediaType string) bool {
	return mediaType == defaultMediaType || strings.HasSuffix(mediaType, "+json")
}
