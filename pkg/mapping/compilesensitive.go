package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// compileSensitive reads the marks before anything else is compiled.
func (c *compiler) compileSensitive() {
	c.program.sensitive = marks{}
	for i, text := range c.spec.Sensitive {
		field := fmt.Sprintf("spec.sensitive[%d]", i)
		path, err := parseBodyPath(text)
		if err != nil {
			c.failAt(field, err)
			continue
		}
		variable := celrules.Variable(path[0])
		known := slices.Contains([]celrules.Variable{celrules.Observed, celrules.Response, celrules.Operation}, variable)
		answer := variable == celrules.Response || variable == celrules.Operation
		switch {
		case !known || len(path) < 2:
			c.fail(field, "a path begins with observed., response. or operation., such as observed.token or response.body.token")
			continue
		case answer && path[1] == "headers" && len(path) == 3:
			path[2] = strings.ToLower(path[2])
		case answer && path[1] != "body":
			c.fail(field, "below %s there are body and the single headers, such as response.headers.x-token", variable)
			continue
		}
		c.mark(variable, path[1:])
	}
	c.spreadMarks()
}

func (c *compiler) mark(variable celrules.Variable, path bodyPath) {
	if !slices.ContainsFunc(c.program.sensitive[variable], func(p bodyPath) bool { return slices.Equal(p, path) }) {
		c.program.sensitive[variable] = append(c.program.sensitive[variable], path)
	}
}

// spreadMarks: the observed object is a part of the answers, and what is marked in the one is marked in the others. An answer
// about an operation is an answer.
func (c *compiler) spreadMarks() {
	for _, path := range slices.Clone(c.program.sensitive[celrules.Operation]) {
		c.mark(celrules.Response, path)
	}
	observed, answers := slices.Clone(c.program.sensitive[celrules.Observed]), slices.Clone(c.program.sensitive[celrules.Response])
	for _, place := range c.objectPlaces() {
		for _, path := range observed {
			c.mark(celrules.Response, slices.Concat(place, path))
		}
		for _, path := range answers {
			if path.startsWith(place) && len(path) > len(place) {
				c.mark(celrules.Observed, path[len(place):])
			}
		}
	}
	for _, path := range c.program.sensitive[celrules.Response] {
		c.mark(celrules.Operation, path)
	}
}

// objectPlaces are where answers hold the object, as far as the mapping says it by plain names.
func (c *compiler) objectPlaces() []bodyPath {
	const usual = "response.body"
	var sources []v1alpha1.Expression
	o := c.spec.Operations
	if o.Read != nil {
		sources = append(sources, orDefault(o.Read.Select, usual))
	}
	if o.List != nil {
		sources = append(sources, orDefault(o.List.Items, usual), usual) // an item stands for a whole answer, too
	}
	if o.Create != nil {
		sources = append(sources, o.Create.Select)
	}
	if o.Update != nil {
		sources = append(sources, o.Update.Select)
	}
	var places []bodyPath
	for _, source := range sources {
		path, err := parseBodyPath(string(source))
		if err == nil && len(path) > 1 && path[0] == string(celrules.Response) {
			places = append(places, path[1:])
		}
	}
	return places
}

// refuseSensitive refuses an expression that names a sensitive place and whose value people see.
func (c *compiler) refuseSensitive(x *expression, shown string) {
	if x == nil {
		return
	}
	for variable, paths := range c.program.sensitive {
		for _, path := range paths {
			if x.program.UsesPath(variable, path...) {
				c.fail(x.field, "%s.%s is sensitive (spec.sensitive), and this value is shown in %s; it may go into a request or into an output of kind Secret", variable, path, shown)
				return
			}
		}
	}
}

// checkSensitive looks at the expressions whose values are shown, once all are compiled.
func (c *compiler) checkSensitive() {
	p := c.program
	if len(p.sensitive) == 0 {
		return
	}
	for _, plan := range p.status {
		c.refuseSensitive(plan.value, "the status")
	}
	for _, plan := range p.identifiers {
		c.refuseSensitive(plan.assigned, "the status and in the record")
	}
	for _, plan := range p.outputs {
		for _, value := range plan.data {
			if plan.kind != v1alpha1.OutputSecret {
				c.refuseSensitive(value.value, "a "+string(plan.kind))
			}
		}
	}
	for _, operation := range []rest.Operation{rest.Read, rest.Create, rest.Update, rest.Delete} {
		plan := p.operations[operation]
		if plan == nil {
			continue
		}
		c.checkReshaping(plan)
		if plan.async != nil {
			c.refuseSensitive(plan.async.handle, "the record")
			c.refuseSensitive(plan.async.message, "a condition")
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		f.hidden = f.hidden || slices.ContainsFunc(p.sensitive[celrules.Observed], func(path bodyPath) bool {
			return path.startsWith(f.observedAt) || f.observedAt.startsWith(path)
		})
	}
}

// checkReshaping: where select builds an object out of an answer with sensitive places, nobody can tell where they are in it.
func (c *compiler) checkReshaping(plan *operationPlan) {
	if plan.selected == nil || len(c.program.sensitive[celrules.Observed]) > 0 {
		return
	}
	for _, path := range c.program.sensitive[celrules.Response] {
		if plan.selected.program.Touches(celrules.Response, path...) {
			c.fail(plan.selected.field, "it makes the observed object out of an answer in which response.%s is sensitive; "+
				"say in spec.sensitive where that is in the observed object, too (observed.…)", path)
			return
		}
	}
}
