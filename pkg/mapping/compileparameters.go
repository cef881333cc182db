package mapping

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

func (c *compiler) parameters(list []v1alpha1.Parameter, field string, variables []celrules.Variable) []parameterPlan {
	var plans []parameterPlan
	for i, parameter := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		value := c.require(parameter.Value, at+".value", celrules.AnyResult, variables...)
		plans = append(plans, parameterPlan{name: parameter.Name, value: value})
	}
	return plans
}

func (c *compiler) query(list []v1alpha1.Parameter, field string, variables []celrules.Variable) []parameterPlan {
	for i, parameter := range list {
		if parameter.Name == "" {
			c.fail(fmt.Sprintf("%s[%d].name", field, i), "the name is missing")
		}
	}
	return c.parameters(list, field, variables)
}

func (c *compiler) headers(list []v1alpha1.Parameter, field string, variables []celrules.Variable) []parameterPlan {
	for i, parameter := range list {
		if problem := headerNameProblem(parameter.Name); problem != "" {
			c.fail(fmt.Sprintf("%s[%d].name", field, i), "%s", problem)
		}
	}
	return c.parameters(list, field, variables)
}

// headerNameProblem says why a mapping cannot set a header; empty when it can. Authorization is allowed: a custom
// resource may bring its own credential from a Secret.
func headerNameProblem(name string) string {
	if !isToken(name) {
		return "a header name is a token of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110, section 5.1)"
	}
	switch canonical := http.CanonicalHeaderKey(name); canonical {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
		"Proxy-Connection", "Proxy-Authorization", "Expect", "Accept-Encoding":
		return canonical + " belongs to the connection and is set by the HTTP client; remove it"
	case "Accept":
		return "use accept of the operation"
	case "Content-Type":
		return "use contentType of the operation"
	case "Idempotency-Key", "X-Idempotency-Key":
		return canonical + " is for a create whose key the server knows again, and the operator makes the key; " +
			"declare operations.create.idempotency with safety IdempotencyKey"
	}
	return ""
}

// isToken tells whether a text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	notToken := func(r rune) bool {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return text != "" && strings.IndexFunc(text, notToken) < 0
}

// isHeaderValue tells whether a text can be sent as a header's value without changing the message's frame.
func isHeaderValue(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

func (c *compiler) compileList(o *v1alpha1.ListOperation) {
	plan := c.listing(&o.RequestTemplate, o.Method, o.BodyExpression, o.Items, o.Pagination)
	c.program.list.match = c.require(o.Match, plan.field+".match", celrules.BoolResult, celrules.Item, celrules.Self, celrules.Refs, celrules.Identifiers, celrules.Endpoint)
}

// listing compiles what every list has.
func (c *compiler) listing(t *v1alpha1.RequestTemplate, method string, body, items v1alpha1.Expression, pages *v1alpha1.Pagination) *operationPlan {
	plan := c.template(rest.List, t)
	c.method(plan, method, http.MethodGet, http.MethodGet, http.MethodPost)
	c.bodyFrom(plan, body, c.requestVariables(plan.operation)...)
	c.program.list = &listPlan{
		items: c.compile(items, plan.field+".items", celrules.ListResult, c.responseVariables(rest.List)...),
	}
	if pages != nil {
		c.program.list.pagination = c.pagination(pages, plan)
	}
	return plan
}

// The defaults of a pagination.
const (
	defaultFirstPage = 1
	defaultMaxPages  = 100
)

func (c *compiler) pagination(p *v1alpha1.Pagination, list *operationPlan) *paginationPlan {
	field := list.field + ".pagination"
	plan := &paginationPlan{
		kind: p.Type, pageParam: p.PageParam, offsetParam: p.OffsetParam, limitParam: p.LimitParam, cursorParam: p.CursorParam,
		firstPage: defaultFirstPage, limit: p.Limit, maxPages: p.MaxPages,
		cursor: c.compile(p.Cursor, field+".cursor", celrules.ScalarResult, c.responseVariables(rest.List)...),
	}
	if p.FirstPage != nil {
		plan.firstPage = *p.FirstPage
	}
	if plan.maxPages <= 0 {
		plan.maxPages = defaultMaxPages
	}
	c.paginationType(p, field)
	if (p.LimitParam == "") != (p.Limit == 0) {
		c.fail(field, "limit and limitParam go together: the name of the parameter and the page size asked for")
	}
	for _, name := range []string{p.PageParam, p.OffsetParam, p.LimitParam, p.CursorParam} {
		if name != "" && slices.ContainsFunc(list.query, func(q parameterPlan) bool { return q.name == name }) {
			c.fail(list.field+".query", "%q is also a parameter of the pagination and would be sent twice; remove it here", name)
		}
	}
	return plan
}

// paginationType checks that the parameters of the type are there, and no others.
func (c *compiler) paginationType(p *v1alpha1.Pagination, field string) {
	owners := []struct {
		kind        v1alpha1.PaginationType
		name, value string
	}{
		{v1alpha1.PaginationPage, "pageParam", p.PageParam},
		{v1alpha1.PaginationOffset, "offsetParam", p.OffsetParam},
		{v1alpha1.PaginationCursor, "cursorParam", p.CursorParam},
		{v1alpha1.PaginationCursor, "cursor", string(p.Cursor)},
	}
	known := p.Type == v1alpha1.PaginationLink
	for _, owner := range owners {
		known = known || p.Type == owner.kind
		switch {
		case p.Type == owner.kind && owner.value == "":
			c.fail(field, "type %s needs %s", owner.kind, owner.name)
		case p.Type != owner.kind && owner.value != "":
			c.fail(field+"."+owner.name, "%s is for type %s, and the type is %s", owner.name, owner.kind, p.Type)
		}
	}
	if !known {
		c.fail(field+".type", "the type is Link, Page, Offset or Cursor")
	}
}
