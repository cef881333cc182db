package goldenmapping

import (
	"context"
	"errors"
	"fmt"

	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// underway is an operation that the server has accepted.
type underway struct {
	operation rest.Operation
	// url is where it is asked about, empty where the answer named none.
	url string
}

var (
	errNothingUnderway = errors.New("nothing is under way that could be polled")
	errStillUnderway   = errors.New("the server is still at work on the operation, and nothing else is sent for the object")
	errNotRead         = errors.New("the mapping has steps before the delete, which depend on the object: read it first")
)

// accepted notes that a success only means that the server will do it later.
func (p *player) accepted(ctx context.Context, req rest.Request, resp *rest.Response, step *Step) error {
	is, handle, err := p.pass.Accepted(ctx, req.Operation, resp)
	if err != nil || !is {
		return err
	}
	step.Outcome = lifecycle.Accepted
	p.underway = &underway{operation: req.Operation, url: handle}
	if req.Operation == rest.Create {
		p.know(p.pass.AssignedSoFar(ctx, resp))
	}
	return nil
}

// poll asks how far the operation has come. A failure is judged as one of what was asked for.
func (p *player) poll(ctx context.Context, x Exchange) (rest.Request, error) {
	if p.underway == nil || p.underway.url == "" {
		return rest.Request{}, errNothingUnderway
	}
	of := p.underway.operation
	req := p.pass.PollRequest(of, p.underway.url)
	resp := response(x)
	report, declared, err := p.report(ctx, of, resp)
	if err != nil {
		return req, err
	}
	progress, verdict := lifecycle.JudgeOperation(req, of, rest.Exchange{Response: resp}, report, declared)
	step := Step{Request: req.Method + " " + req.Route, Outcome: verdict.Outcome, Declared: declared != nil, Progress: progress, Message: verdict.Message}
	switch progress {
	case lifecycle.ProgressDone, lifecycle.ProgressFailed, lifecycle.ProgressForgotten:
		p.underway, p.observed = nil, nil
		if of == rest.Create && progress == lifecycle.ProgressDone {
			p.know(p.pass.AssignedByOperation(ctx, resp))
		}
	default: // the server is at work, or nobody knows
	}
	p.result.log(req, x)
	p.result.Steps = append(p.result.Steps, step)
	return req, nil
}

// report is what the mapping reads out of an answer about an operation.
func (p *player) report(ctx context.Context, of rest.Operation, resp *rest.Response) (lifecycle.Report, *lifecycle.Declared, error) {
	done, failed, message, err := p.pass.Progress(ctx, of, resp)
	if err != nil || !failed {
		return lifecycle.Report{Done: done}, nil, err
	}
	report := lifecycle.Report{Failed: true, Message: message}
	outcome, words, matched, err := p.pass.Outcome(ctx, of, resp)
	if err != nil || !matched {
		return report, nil, err
	}
	return report, &lifecycle.Declared{Outcome: outcome, Message: words}, nil
}

// deleteRequest is the first step whose condition holds, or the delete itself.
func (p *player) deleteRequest(ctx context.Context) (rest.Request, error) {
	if !p.kind.Program.HasDeleteSteps() {
		return p.pass.DeleteRequest(ctx, p.observed)
	}
	if p.observed == nil {
		return rest.Request{}, errNotRead
	}
	observed := p.observed
	p.observed = nil // after a step the object is looked at again
	step, due, err := p.pass.DeleteStep(ctx, observed)
	if err != nil {
		return rest.Request{}, fmt.Errorf("the steps before the delete: %w", err)
	}
	if p.stepping = due; due {
		return p.pass.DeleteStepRequest(ctx, step, observed)
	}
	return p.pass.DeleteRequest(ctx, observed)
}
