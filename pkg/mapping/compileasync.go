package mapping

import (
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
)

// asyncPlan says how to follow what the server does later. An expression that is nil stands for its default.
type asyncPlan struct {
	when, handle, done, failed, message *expression
	interval, deadline                  time.Duration
}

// The defaults and bounds of an operation that is followed.
const (
	defaultPollInterval = 3 * time.Second
	minPollInterval     = 500 * time.Millisecond
	maxPollInterval     = time.Hour
	defaultDeadline     = 10 * time.Minute
	minDeadline         = 10 * time.Second
	maxDeadline         = 24 * time.Hour
)

func (c *compiler) async(a *v1alpha1.Async, of *operationPlan) *asyncPlan {
	if a == nil {
		return nil
	}
	field := of.field + ".async"
	polled := []celrules.Variable{celrules.Operation, celrules.Self, celrules.Identifiers}
	return &asyncPlan{
		when:     c.compile(a.When, field+".when", celrules.BoolResult, c.responseVariables(of.operation)...),
		handle:   c.compile(a.Handle, field+".handle", celrules.StringResult, c.responseVariables(of.operation)...),
		done:     c.compile(a.Done, field+".done", celrules.BoolResult, polled...),
		failed:   c.compile(a.Failed, field+".failed", celrules.BoolResult, polled...),
		message:  c.compile(a.Message, field+".message", celrules.StringResult, polled...),
		interval: c.between(a.Interval.Duration, defaultPollInterval, minPollInterval, maxPollInterval, field+".interval"),
		deadline: c.between(a.Deadline.Duration, defaultDeadline, minDeadline, maxDeadline, field+".deadline"),
	}
}

func (c *compiler) between(given, usual, least, most time.Duration, field string) time.Duration {
	if given == 0 {
		return usual
	}
	if given < least || given > most {
		c.fail(field, "the duration is from %s to %s", least, most)
	}
	return given
}
