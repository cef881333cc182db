package mapping

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Program is a compiled mapping. It is immutable and safe for concurrent use.
type Program struct {
	name       string
	kind       string
	generation int64
	sync       syncPlan
	policy     v1alpha1.Policy

	endpoint    endpointPlan
	identifiers []identifierPlan
	secrets     []secretPlan
	references  []referencePlan
	operations  map[rest.Operation]*operationPlan
	list        *listPlan
	fields      []fieldPlan
	status      []statusPlan
	ready       *readyPlan
	rules       []rulePlan
	outcomes    []outcomePlan
	outputs     []outputPlan
	// rotateEvery is zero where a rotation is only asked for.
	rotateEvery time.Duration
	// sensitive are the places in the server's answers that are shown nowhere.
	sensitive marks

	parts []*partPlan
	// place is where all this stands in the mapping: spec, or spec.parts[0] for what serves one part.
	place string
	// inherited are the identifiers of the mapping that a part may use too.
	inherited []string

	safety        v1alpha1.CreateSafety
	safetyMessage string
	// recovery is the class by which an unknown outcome is recovered where a create cannot be sent again with its key.
	recovery     v1alpha1.CreateSafety
	statusSchema *apiextensionsv1.JSONSchemaProps
	warnings     []string
}

// expression is a compiled expression and its place in the mapping.
type expression struct {
	field   string
	program *celrules.Expression
}

type syncPlan struct{ interval, consistencyWindow, serverSlack time.Duration }

type endpointPlan struct {
	kind v1alpha1.EndpointKind
	name string
	from *expression
}

// identifierPlan has exactly one of value and assigned.
type identifierPlan struct {
	name            string
	value, assigned *expression
}

type secretPlan struct {
	name     string
	ref      *expression
	optional bool
}

// operationPlan is what one request is built from.
type operationPlan struct {
	operation      rest.Operation
	field          string
	method         string
	path           *pathTemplate
	query, headers []parameterPlan
	accept         string
	contentType    string
	encoding       v1alpha1.Encoding
	body           v1alpha1.BodyMode
	bodyFrom       *expression
	// carry are copied from the observed object into the body, strip are left out of it.
	carry, strip []bodyPath
	// lock is nil when the operation has none.
	lock *expression
	// selected is nil when the mapping does not say where the object is.
	selected *expression
	// before are sent before it, each while its condition holds.
	before []stepPlan
	// key says where the idempotency key goes, nil for none.
	key *idempotencyPlan
	// async is nil for an operation that the server does at once.
	async *asyncPlan
}

// stepPlan is a request that is sent while a condition on the object holds.
type stepPlan struct {
	when    *expression
	request *operationPlan
}

type parameterPlan struct {
	name  string
	value *expression
}

// listPlan is what a listing has beyond its request.
type listPlan struct {
	// items is nil when the mapping does not say where the list is.
	items *expression
	// match is nil in a part, where every item counts that has a key.
	match      *expression
	pagination *paginationPlan
}

type paginationPlan struct {
	kind                                            v1alpha1.PaginationType
	pageParam, offsetParam, limitParam, cursorParam string
	firstPage, limit                                int64
	cursor                                          *expression
	maxPages                                        int
}

// fieldPlan has exactly one of from and value.
type fieldPlan struct {
	// field is the place in the mapping.
	field              string
	from               bodyPath
	value              *expression
	to                 bodyPath
	observedAt         bodyPath
	written            string
	onCreate, onUpdate bool
	compare            v1alpha1.Compare
	// key tells the elements of a list apart that is compared as MapByKey.
	key       string
	writeOnly bool
	// nulls says what a value that is not there means.
	nulls v1alpha1.Nulls
	// always tells that it is sent with every update, immutable that it is never sent as a change.
	always, immutable bool
	// hidden tells that its value is not shown to people.
	hidden bool
}

// on tells whether the field is sent with an operation.
func (f *fieldPlan) on(operation rest.Operation) bool {
	return operation == rest.Create && f.onCreate || operation == rest.Update && f.onUpdate
}

// compared tells whether the field can differ at all.
func (f *fieldPlan) compared() bool {
	return !f.writeOnly && f.compare != v1alpha1.CompareIgnore
}

type statusPlan struct {
	to     bodyPath
	value  *expression
	schema *apiextensionsv1.JSONSchemaProps
}

type readyPlan struct {
	holds   *expression
	message string
}

type rulePlan struct {
	holds           *expression
	reason, message string
}

type outcomePlan struct {
	on      []rest.Operation
	when    *expression
	outcome v1alpha1.OutcomeName
	message string
}

// at gives the place in the mapping of something below the program's own.
func (p *Program) at(what string) string { return p.place + "." + what }

// observedField is where the mapping says what the observed object is.
func (p *Program) observedField() string {
	if p.operations[rest.Read] == nil {
		return p.at("operations.list.items")
	}
	return p.at("operations.read.select")
}

// Name is the mapping's name.
func (p *Program) Name() string { return p.name }

// Kind is the kind of the mapping's custom resources.
func (p *Program) Kind() string { return p.kind }

// Generation is the mapping's generation that was compiled.
func (p *Program) Generation() int64 { return p.generation }

// Interval is the time between two looks at one object.
func (p *Program) Interval() time.Duration { return p.sync.interval }

// ConsistencyWindow is how long after a write the server may still answer as before it.
func (p *Program) ConsistencyWindow() time.Duration { return p.sync.consistencyWindow }

// ServerSlack is how long the server may go on working on a request after the client gave it up.
func (p *Program) ServerSlack() time.Duration { return p.sync.serverSlack }

// Policy is the mapping's policy with every default filled in.
func (p *Program) Policy() v1alpha1.Policy { return p.policy }

// Recovery is the class by which the outcome of a create is found out that was lost. It is that of CreateSafety, but for
// IdempotencyKey, where it is what is left when the server may have forgotten the key: Marker or None.
func (p *Program) Recovery() v1alpha1.CreateSafety { return p.recovery }

// CreateSafety is the class of create safety in force, and in words what follows from it.
func (p *Program) CreateSafety() (v1alpha1.CreateSafety, string) { return p.safety, p.safetyMessage }

// Supports tells whether the mapping declares an operation.
func (p *Program) Supports(operation rest.Operation) bool { return p.operations[operation] != nil }

// RotateEvery is how old a value becomes before it is rotated; zero for no limit.
func (p *Program) RotateEvery() time.Duration { return p.rotateEvery }

// HasAssignedIdentifiers tells whether the server chooses part of the object's identity.
func (p *Program) HasAssignedIdentifiers() bool {
	return slices.ContainsFunc(p.identifiers, func(i identifierPlan) bool { return i.assigned != nil })
}

// Needs lists the identifiers that the path of an operation is built from.
func (p *Program) Needs(operation rest.Operation) []string {
	plan := p.operations[operation]
	if plan == nil {
		return nil
	}
	return plan.path.parameters()
}

// CanLookUp tells whether the list can find the object before its assigned identifiers are known.
func (p *Program) CanLookUp() bool {
	if p.list == nil {
		return false
	}
	declared := p.recovery == v1alpha1.SafetyUniqueKey || p.recovery == v1alpha1.SafetyMarker
	return lookUpProblem(p, declared) == ""
}

// EndpointKind is the kind of the mapping's endpoint.
func (p *Program) EndpointKind() v1alpha1.EndpointKind { return p.endpoint.kind }

// EndpointText is the endpoint as printed: kind/name, or kind/(expression).
func (p *Program) EndpointText() string {
	if p.endpoint.from != nil {
		return string(p.endpoint.kind) + "/(" + p.endpoint.from.program.Source() + ")"
	}
	return string(p.endpoint.kind) + "/" + p.endpoint.name
}

// StatusHas tells whether the CRD's status can hold a field, such as identifiers or lastError.
func (p *Program) StatusHas(field string) bool {
	return p.statusSchema != nil && lookUp(p.statusSchema, bodyPath{field}).found()
}

// StatusPaths are the places below status that the mapping fills, in the order of the mapping.
func (p *Program) StatusPaths() [][]string {
	paths := make([][]string, len(p.status))
	for i := range p.status {
		paths[i] = slices.Clone(p.status[i].to)
	}
	return paths
}

// SecretNames are the declared names, as in secrets.<name>.
func (p *Program) SecretNames() []string {
	names := make([]string, len(p.secrets))
	for i := range p.secrets {
		names[i] = p.secrets[i].name
	}
	return names
}

// HasWriteOnly tells whether a field is sent that the server never gives back.
func (p *Program) HasWriteOnly() bool {
	return slices.ContainsFunc(p.fields, func(f fieldPlan) bool { return f.writeOnly })
}

// Warnings are what the author should know about expressions that compiled.
func (p *Program) Warnings() []string { return slices.Clone(p.warnings) }
