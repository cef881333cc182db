package mapping

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Page is a place in a listing. The zero value is its first page.
type Page struct {
	// Number counts the pages before this one.
	Number int
	// Offset counts the items before this page.
	Offset int64
	// Cursor is what the server gave with the page before.
	Cursor string
	// Link is the target of the page before's Link header with rel="next".
	Link string
}

// listing is what a pass saw of the list so far.
type listing struct {
	// last is the digest of the last page's items.
	last [sha256.Size]byte
	// seen are the digests of the matches so far.
	seen map[[sha256.Size]byte]bool
}

// ListRequest builds the request for one page.
func (s *Pass) ListRequest(ctx context.Context, page Page) (rest.Request, error) {
	plan, err := s.plan(rest.List)
	if err != nil {
		return rest.Request{}, err
	}
	req, err := s.request(ctx, plan, nil)
	if err != nil {
		return rest.Request{}, err
	}
	s.program.list.pagination.apply(&req, page)
	return req, nil
}

// ListPage gives the objects on a page that match the custom resource, and the page that follows; next is nil after
// the last one. Pages are given in their order. Only after the last page is it certain that an object is absent, so
// whatever casts doubt on the end of the list is an error.
//
// An object that stands on two pages, because the order changed while they were read, is given once.
func (s *Pass) ListPage(ctx context.Context, resp *rest.Response, page Page) (matches []any, next *Page, err error) {
	items, err := s.items(ctx, resp)
	if err != nil {
		return nil, nil, err
	}
	if page.Number == 0 {
		s.listing = listing{seen: map[[sha256.Size]byte]bool{}}
	}
	repeated, err := s.repeats(items, page)
	if err != nil || repeated {
		return nil, nil, err
	}
	if matches, err = s.matches(ctx, items); err != nil {
		return nil, nil, err
	}
	next, err = s.nextPage(ctx, resp, page, len(items))
	if err != nil {
		return nil, nil, err
	}
	return matches, next, nil
}

// items gives the list that a response holds. Where the mapping says where it is, null is an empty list: many servers
// write it so.
func (s *Pass) items(ctx context.Context, resp *rest.Response) ([]any, error) {
	plan, err := s.plan(rest.List)
	if err != nil {
		return nil, err
	}
	field := plan.field + ".items"
	if s.program.list.items == nil {
		items, ok := resp.Body.([]any)
		if !ok {
			return nil, &NoObjectError{rest.List, field, "a list", describeBody(resp)}
		}
		return items, nil
	}
	value, present, err := s.evaluate(ctx, s.program.list.items, responseVariable(resp))
	if err != nil || !present {
		return nil, err
	}
	items, ok := value.([]any)
	if !ok {
		return nil, &NoObjectError{rest.List, field, "a list", kindOf(value)}
	}
	return items, nil
}

// repeats tells whether the server gave the page before once more. A server that does not know the page parameter
// does that: its one page is the whole list, unless it is exactly as long as was asked for, or the server itself says
// that there is more.
func (s *Pass) repeats(items []any, page Page) (bool, error) {
	digest, err := digestOf(items)
	if err != nil {
		return false, err
	}
	same := page.Number > 0 && len(items) > 0 && digest == s.listing.last
	s.listing.last = digest
	p := s.program.list.pagination
	if !same || p == nil {
		return same, nil
	}
	full := p.limit > 0 && int64(len(items)) == p.limit
	if counted := p.kind == v1alpha1.PaginationPage || p.kind == v1alpha1.PaginationOffset; counted && !full {
		return true, nil
	}
	return false, &PaginationError{
		s.program.at("operations.list.pagination"),
		fmt.Sprintf("page %d holds the same items as the page before, though there should be more; check the names of the parameters", page.Number+1),
	}
}

func digestOf(value any) ([sha256.Size]byte, error) {
	encoded, err := encodeJSON(value)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("list items: %w", err)
	}
	return sha256.Sum256(encoded), nil
}

// matches gives the items that are the object of the custom resource and were not given before.
func (s *Pass) matches(ctx context.Context, items []any) ([]any, error) {
	var found []any
	var keys [][sha256.Size]byte
	for _, item := range items {
		same, err := s.isMatch(ctx, item)
		if err != nil {
			return nil, err
		}
		if !same {
			continue
		}
		key, identified, err := s.itemKey(ctx, item)
		if err != nil {
			return nil, err
		}
		if s.listing.seen[key] {
			continue
		}
		if identified {
			s.listing.seen[key] = true
		} else {
			keys = append(keys, key) // two alike on one page are two
		}
		found = append(found, item)
	}
	for _, key := range keys {
		s.listing.seen[key] = true
	}
	return found, nil
}

// isMatch tells whether an item counts. In a part all do; their keys are looked at later.
func (s *Pass) isMatch(ctx context.Context, item any) (bool, error) {
	if s.program.list.match == nil {
		return true, nil
	}
	return s.holds(ctx, s.program.list.match, map[celrules.Variable]any{celrules.Item: item})
}

// itemKey tells objects apart: by their assigned identifiers where they have them (identified), otherwise by their
// whole content.
func (s *Pass) itemKey(ctx context.Context, item any) (key [sha256.Size]byte, identified bool, err error) {
	if s.program.HasAssignedIdentifiers() {
		identifiers, err := s.AssignedFromItem(ctx, item)
		if err == nil {
			key, err = digestOf(textObject(identifiers))
			return key, true, err
		}
	}
	key, err = digestOf(item)
	return key, false, err
}

// nextPage says where the list goes on; nil at its end.
func (s *Pass) nextPage(ctx context.Context, resp *rest.Response, page Page, count int) (*Page, error) {
	p := s.program.list.pagination
	if p == nil {
		return nil, nil
	}
	next := Page{Number: page.Number + 1, Offset: page.Offset + int64(count)}
	more := count > 0
	switch p.kind {
	case v1alpha1.PaginationCursor:
		cursor, err := s.cursor(ctx, p, resp)
		if err != nil {
			return nil, err
		}
		next.Cursor = cursor
		// An empty page in the middle is possible; only the same cursor again says that nothing follows.
		more = cursor != "" && (count > 0 || cursor != page.Cursor)
	case v1alpha1.PaginationLink:
		next.Link = nextLink(resp.Headers["link"])
		more = next.Link != "" && (count > 0 || next.Link != page.Link)
	case v1alpha1.PaginationPage, v1alpha1.PaginationOffset: // they end at an empty page
	}
	if !more {
		return nil, nil
	}
	if next.Number >= p.maxPages {
		return nil, &TooManyPagesError{s.program.at("operations.list.pagination"), p.maxPages}
	}
	return &next, nil
}

func (s *Pass) cursor(ctx context.Context, p *paginationPlan, resp *rest.Response) (string, error) {
	value, present, err := s.evaluate(ctx, p.cursor, responseVariable(resp))
	if err != nil || !present {
		return "", err
	}
	text, ok := formatScalar(value)
	if !ok {
		return "", &PaginationError{p.cursor.field, "the cursor is " + kindOf(value) + "; it must be text or a number"}
	}
	return text, nil
}

// apply puts the place in the listing into the request.
func (p *paginationPlan) apply(req *rest.Request, page Page) {
	if p == nil {
		return
	}
	if page.Link != "" {
		followLink(req, page.Link)
		return
	}
	add := func(name, value string) {
		req.Query = append(req.Query, rest.Parameter{Name: name, Value: value})
	}
	switch p.kind {
	case v1alpha1.PaginationPage:
		add(p.pageParam, fmt.Sprint(p.firstPage+int64(page.Number)))
	case v1alpha1.PaginationOffset:
		add(p.offsetParam, fmt.Sprint(page.Offset))
	case v1alpha1.PaginationCursor:
		if page.Cursor != "" {
			add(p.cursorParam, page.Cursor)
		}
	case v1alpha1.PaginationLink: // the first page, which no link led to
	}
	if p.limitParam != "" {
		add(p.limitParam, fmt.Sprint(p.limit))
	}
}

// followLink turns a link into a request. One that is only a query belongs to the list's own path, and not to the
// endpoint's base URL, against which the others are resolved.
func followLink(req *rest.Request, link string) {
	if !strings.HasPrefix(link, "?") {
		req.Follow, req.Query = link, nil
		return
	}
	query, err := parseQuery(link[1:])
	if err != nil {
		req.Follow, req.Query = link, nil
		return
	}
	req.Query = query
}
