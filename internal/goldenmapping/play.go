package goldenmapping

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// Play makes the requests of a case in the order of its script, and reads the answers. check, when given, is asked
// about every exchange.
func Play(ctx context.Context, k *Kind, c *Case, check func(rest.Request, Exchange) error) (*Result, error) {
	p, err := newPlayer(ctx, k, c)
	if err != nil {
		return nil, err
	}
	if len(p.result.Violations) > 0 {
		if len(c.Script.Exchanges) > 0 {
			return nil, fmt.Errorf("a rule is violated, so no request is sent, and the script has %d", len(c.Script.Exchanges))
		}
		return p.result, nil
	}
	for i, x := range c.Script.Exchanges {
		req, err := p.exchange(ctx, x)
		if err == nil && check != nil {
			err = check(req, x)
		}
		if err != nil {
			return nil, fmt.Errorf("exchange %d (%s): %w", i+1, x.Operation, err)
		}
	}
	if p.page != nil {
		return nil, fmt.Errorf("the list goes on with page %d, and the script ends", p.page.Number+1)
	}
	return p.result, p.finish(ctx)
}

// player carries a case from exchange to exchange.
type player struct {
	kind        *Kind
	pass        *mapping.Pass
	identifiers map[string]string
	observed    any
	// page is the page of the list that must come next; nil when none must.
	page    *mapping.Page
	matches []any
	parts   map[string]*partPlayer
	// underway is what the server has accepted; stepping tells that the last request only prepares the delete.
	underway *underway
	stepping bool
	result   *Result
}

func newPlayer(ctx context.Context, k *Kind, c *Case) (*player, error) {
	self := runtime.DeepCopyJSON(c.Object)
	if !k.Serves(self) {
		return nil, errNoKind
	}
	if err := k.Admit(ctx, self); err != nil {
		return nil, err
	}
	refs, err := k.Program.SecretRefs(ctx, self)
	if err != nil {
		return nil, err
	}
	p := &player{kind: k, result: &Result{Title: c.Title, canaries: canaries(refs)}, identifiers: maps.Clone(c.Script.Identifiers)}
	name, err := k.Program.EndpointName(ctx, self)
	if err != nil {
		return nil, err
	}
	referents, err := k.refer(ctx, self, c.Referents)
	if err != nil {
		return nil, err
	}
	p.pass = k.Program.NewPass(mapping.Inputs{
		Self: self, Secrets: p.result.canaries, References: referents,
		Endpoint: mapping.EndpointFacts{Name: name, Values: c.Script.Values},
	})
	broken, err := p.pass.Rules(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range broken {
		p.result.Violations = append(p.result.Violations, Violation{Reason: v.Reason, Message: v.Message})
	}
	return p, p.identify(ctx)
}

// identify settles the identifiers that the custom resource gives, beside those that the script knows.
func (p *player) identify(ctx context.Context) error {
	chosen, err := p.pass.Identifiers(ctx)
	if err != nil {
		return err
	}
	p.know(chosen)
	return nil
}

func (p *player) know(identifiers map[string]string) {
	if p.identifiers == nil {
		p.identifiers = map[string]string{}
	}
	maps.Copy(p.identifiers, identifiers)
	p.pass.SetIdentifiers(p.identifiers)
}

func (p *player) exchange(ctx context.Context, x Exchange) (rest.Request, error) {
	if p.page != nil && x.Operation != rest.List {
		return rest.Request{}, fmt.Errorf("the list goes on with page %d, and nothing else may be asked before its end", p.page.Number+1)
	}
	switch {
	case x.Operation == rest.Poll:
		return p.poll(ctx, x)
	case p.underway != nil && p.underway.url != "":
		return rest.Request{}, errStillUnderway
	case x.Part != "":
		return p.partExchange(ctx, x)
	}
	p.underway, p.stepping = nil, false
	req, err := p.request(ctx, x.Operation)
	if err != nil {
		return rest.Request{}, err
	}
	resp := response(x)
	step, err := judge(ctx, p.pass, req, resp)
	if err != nil {
		return req, err
	}
	if step.Outcome == lifecycle.Success && !p.stepping {
		err = p.accepted(ctx, req, resp, &step)
	}
	switch {
	case err != nil || step.Outcome == lifecycle.Accepted:
	case step.Outcome == lifecycle.Success:
		err = p.take(ctx, x.Operation, resp, &step)
	default:
		p.page, p.matches = nil, nil
	}
	p.result.log(req, x)
	p.result.Steps = append(p.result.Steps, step)
	return req, err
}

// exampleKey stands for the idempotency key of a create, which is another one for each attempt.
const exampleKey = "00000000-0000-4000-8000-000000000001"

func (p *player) request(ctx context.Context, operation rest.Operation) (rest.Request, error) {
	switch operation {
	case rest.Read:
		return p.pass.ReadRequest(ctx)
	case rest.List:
		if p.page == nil {
			return p.pass.ListRequest(ctx, mapping.Page{})
		}
		return p.pass.ListRequest(ctx, *p.page)
	case rest.Create:
		p.pass.SetIdempotencyKey(exampleKey)
		return p.pass.CreateRequest(ctx)
	case rest.Update:
		return p.pass.UpdateRequest(ctx, p.observed)
	case rest.Delete:
		return p.deleteRequest(ctx)
	default:
		return rest.Request{}, fmt.Errorf("%q is not an operation of a mapping", operation)
	}
}

// response is an answer as the HTTP client hands it on.
func response(x Exchange) *rest.Response {
	_, isText := x.Body.(string)
	headers := make(map[string]string, len(x.Headers))
	for name, value := range x.Headers {
		headers[strings.ToLower(name)] = value
	}
	return &rest.Response{Status: x.Status, Headers: headers, Body: x.Body, IsJSON: x.Body != nil && !isText}
}

// judge says what an answer means, in the words of the operator.
func judge(ctx context.Context, pass *mapping.Pass, req rest.Request, resp *rest.Response) (Step, error) {
	outcome, message, declared, err := pass.Outcome(ctx, req.Operation, resp)
	if err != nil {
		return Step{}, err
	}
	var d *lifecycle.Declared
	if declared {
		d = &lifecycle.Declared{Outcome: outcome, Message: message}
	}
	verdict := lifecycle.Classify(req, rest.Exchange{Response: resp}, d)
	step := Step{Request: req.Method + " " + req.Route, Outcome: verdict.Outcome, Declared: declared}
	if verdict.Outcome != lifecycle.Success {
		step.Message = verdict.Message
	}
	return step, nil
}

// take reads a successful answer.
func (p *player) take(ctx context.Context, operation rest.Operation, resp *rest.Response, step *Step) error {
	switch operation {
	case rest.List:
		return p.takePage(ctx, resp, step)
	case rest.Delete:
		return nil
	case rest.Create:
		assigned, err := p.pass.Assigned(ctx, resp)
		if err != nil {
			return err
		}
		p.know(assigned)
	default:
	}
	if operation != rest.Read && !p.kind.Program.Selects(operation) {
		return nil
	}
	observed, present, err := p.pass.Select(ctx, operation, resp)
	if err != nil || !present {
		return err
	}
	return p.see(ctx, observed, step)
}

func (p *player) see(ctx context.Context, observed any, step *Step) error {
	comparison, err := p.pass.Compare(ctx, observed)
	if err != nil {
		return err
	}
	p.observed = observed
	step.Differences, step.Immutable = paths(comparison.Differences), paths(comparison.Immutable)
	return nil
}

func paths(differences []mapping.Difference) []string {
	var list []string
	for _, d := range differences {
		list = append(list, d.Path)
	}
	return list
}

// takePage reads a page of the list. After the last, one match is the object, and gives its assigned identifiers.
func (p *player) takePage(ctx context.Context, resp *rest.Response, step *Step) error {
	var current mapping.Page
	if p.page != nil {
		current = *p.page
	}
	matches, next, err := p.pass.ListPage(ctx, resp, current)
	if err != nil {
		return err
	}
	p.matches = slices.Concat(p.matches, matches)
	if p.page = next; next != nil {
		return nil
	}
	found := len(p.matches)
	step.Matches = &found
	matches, p.matches = p.matches, nil
	if found != 1 {
		return nil
	}
	assigned, err := p.pass.AssignedFromItem(ctx, matches[0])
	if err != nil {
		return err
	}
	p.know(assigned)
	if p.kind.Program.Supports(rest.Read) {
		return nil
	}
	return p.see(ctx, matches[0], step)
}

// finish takes what is shown of the object as it was seen last.
func (p *player) finish(ctx context.Context) error {
	p.result.Identifiers = p.identifiers
	if p.observed == nil {
		return nil
	}
	status, err := p.pass.Status(ctx, p.observed)
	if err != nil {
		return err
	}
	p.result.Status = status
	ok, message, err := p.pass.Ready(ctx, p.observed)
	if err != nil {
		return err
	}
	p.result.Ready = &Ready{OK: ok, Message: message}
	return nil
}
