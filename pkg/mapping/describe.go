package mapping

import (
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// Description is a compiled program for people who look for a mistake: what the mapping has become. It holds the texts of
// expressions and no value of any. Headers and queries are named alone, because authors write constants there.
type Description struct {
	Name         string                 `json:"name,omitempty"`
	Kind         string                 `json:"kind,omitempty"`
	Generation   int64                  `json:"generation,omitempty"`
	Endpoint     string                 `json:"endpoint,omitempty"`
	Interval     string                 `json:"interval,omitempty"`
	CreateSafety v1alpha1.CreateSafety  `json:"createSafety,omitempty"`
	Policy       *v1alpha1.Policy       `json:"policy,omitempty"`
	Identifiers  []DescribedValue       `json:"identifiers,omitempty"`
	Secrets      []string               `json:"secrets,omitempty"`
	References   []string               `json:"references,omitempty"`
	Operations   []OperationDescription `json:"operations"`
	Fields       []FieldDescription     `json:"fields,omitempty"`
	Status       []DescribedValue       `json:"status,omitempty"`
	Outputs      []string               `json:"outputs,omitempty"`
	Parts        []Description          `json:"parts,omitempty"`
	Warnings     []string               `json:"warnings,omitempty"`
}

// DescribedValue is something with a name and the text of the expression that gives its value.
type DescribedValue struct {
	Name     string `json:"name"`
	Value    string `json:"value,omitempty"`
	Assigned string `json:"assigned,omitempty"`
}

// OperationDescription is one request of a mapping, with the defaults filled in.
type OperationDescription struct {
	Operation rest.Operation    `json:"operation"`
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Query     []string          `json:"query,omitempty"`
	Headers   []string          `json:"headers,omitempty"`
	Encoding  v1alpha1.Encoding `json:"encoding,omitempty"`
	Body      string            `json:"body,omitempty"`
	Select    string            `json:"select,omitempty"`
	Async     bool              `json:"async,omitempty"`
	Before    int               `json:"before,omitempty"`
}

// FieldDescription is one field of the request body.
type FieldDescription struct {
	To        string           `json:"to"`
	From      string           `json:"from,omitempty"`
	Value     string           `json:"value,omitempty"`
	Compare   v1alpha1.Compare `json:"compare,omitempty"`
	Create    bool             `json:"create"`
	Update    bool             `json:"update"`
	WriteOnly bool             `json:"writeOnly,omitempty"`
}

// Describe gives what the mapping was compiled to.
func (p *Program) Describe() Description {
	d := p.describeProgram()
	d.Name, d.Kind, d.Generation, d.Endpoint = p.name, p.kind, p.generation, p.EndpointText()
	d.Interval = p.sync.interval.Round(time.Second).String()
	d.Policy = &p.policy
	for _, part := range p.parts {
		of := part.program.describeProgram()
		of.Name = part.name
		d.Parts = append(d.Parts, of)
	}
	return d
}

// describeProgram is what a part has as well.
func (p *Program) describeProgram() Description {
	d := Description{CreateSafety: p.safety, Secrets: p.SecretNames(), Warnings: p.Warnings()}
	for _, identifier := range p.identifiers {
		d.Identifiers = append(d.Identifiers, DescribedValue{identifier.name, identifier.value.text(), identifier.assigned.text()})
	}
	for _, reference := range p.ReferenceKinds() {
		d.References = append(d.References, reference.Input+": "+reference.Kind+"."+reference.Group)
	}
	for _, operation := range []rest.Operation{rest.Read, rest.List, rest.Create, rest.Update, rest.Rotate, rest.Delete} {
		if plan := p.operations[operation]; plan != nil {
			d.Operations = append(d.Operations, plan.describe())
		}
	}
	for i := range p.fields {
		d.Fields = append(d.Fields, p.fields[i].describe())
	}
	for _, projection := range p.status {
		d.Status = append(d.Status, DescribedValue{Name: projection.to.String(), Value: projection.value.text()})
	}
	for _, output := range p.Outputs() {
		d.Outputs = append(d.Outputs, string(output.Kind)+" "+output.Name)
	}
	return d
}

func (o *operationPlan) describe() OperationDescription {
	d := OperationDescription{
		Operation: o.operation, Method: o.method, Path: o.path.source, Encoding: o.encoding, Body: string(o.body),
		Query: namesOf(o.query), Headers: namesOf(o.headers), Select: o.selected.text(), Async: o.async != nil, Before: len(o.before),
	}
	if o.bodyFrom != nil {
		d.Body = o.bodyFrom.text()
	}
	return d
}

func (f *fieldPlan) describe() FieldDescription {
	return FieldDescription{
		To: f.to.String(), From: f.from.String(), Value: f.value.text(), Compare: f.compare,
		Create: f.onCreate, Update: f.onUpdate, WriteOnly: f.writeOnly,
	}
}

// text is the expression as its author wrote it, empty for none.
func (x *expression) text() string {
	if x == nil {
		return ""
	}
	return x.program.Source()
}

func namesOf(parameters []parameterPlan) []string {
	names := make([]string, len(parameters))
	for i := range parameters {
		names[i] = parameters[i].name
	}
	return names
}
