package restfake

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// PagingType says how a list is cut.
type PagingType string

// The ways to page. None sends everything.
const (
	None PagingType = ""
	// ByPage counts pages from 1.
	ByPage PagingType = "Page"
	// ByOffset counts items from 0.
	ByOffset PagingType = "Offset"
	// ByLink sends Link rel="next" (RFC 8288) with an absolute URL.
	ByLink PagingType = "Link"
	// ByCursor sends the next cursor in the field CursorField beside the items; it needs an Envelope.
	ByCursor PagingType = "Cursor"
)

// Paging describes the pages of a list.
type Paging struct {
	Type PagingType
	// Param is the query parameter: page, offset, page or cursor by default.
	Param string
	// LimitParam is "limit" by default, and Limit, 50 by default, is both the default and the most of it.
	LimitParam string
	Limit      int
	// CursorField is "next" by default.
	CursorField string
}

func (p Paging) withDefaults() Paging {
	if p.Param == "" {
		p.Param = map[PagingType]string{ByOffset: "offset", ByCursor: "cursor"}[p.Type]
	}
	if p.Param == "" {
		p.Param = "page"
	}
	if p.LimitParam == "" {
		p.LimitParam = "limit"
	}
	if p.Limit == 0 {
		p.Limit = 50
	}
	if p.CursorField == "" {
		p.CursorField = "next"
	}
	return p
}

// list answers with one page of what is visible.
func (s *Server) list(c *Collection, where place, request *Request) reply {
	items := []any{}
	now := s.now()
	for _, o := range s.inPlace(where) {
		if fields := o.visible(now); fields != nil && selected(c, fields, request.Query) {
			items = append(items, c.show(fields))
		}
	}
	answer := reply{status: http.StatusOK, header: map[string]string{"X-Total-Count": strconv.Itoa(len(items))}}
	page, next := c.Paging.cut(items, request.Query)
	answer.body = page
	if c.Envelope != "" {
		envelope := map[string]any{c.Envelope: page}
		if c.Paging.Type == ByCursor && next != "" {
			envelope[c.Paging.CursorField] = next
		}
		answer.body = envelope
	}
	if c.Paging.Type == ByLink && next != "" {
		answer.header["Link"] = c.Paging.link(request, next)
	}
	return answer
}

func selected(c *Collection, fields map[string]any, query url.Values) bool {
	for _, name := range c.Filters {
		if query.Has(name) && query.Get(name) != text(fields[name]) {
			return false
		}
	}
	return true
}

// cut gives the page that the query asks for and the parameter of the next one, empty on the last.
func (p Paging) cut(items []any, query url.Values) (page []any, next string) {
	if p.Type == None {
		return items, ""
	}
	limit := p.Limit
	if asked, err := strconv.Atoi(query.Get(p.LimitParam)); err == nil && asked > 0 {
		limit = min(asked, p.Limit)
	}
	position, _ := strconv.Atoi(query.Get(p.Param)) // a bad position is the first, as on many servers
	start := max(position, 0)
	if p.Type == ByPage || p.Type == ByLink {
		start = (max(position, 1) - 1) * limit
	}
	start = min(start, len(items))
	end := min(start+limit, len(items))
	if end < len(items) {
		next = strconv.Itoa(end)
		if p.Type == ByPage || p.Type == ByLink {
			next = strconv.Itoa(max(position, 1) + 1)
		}
	}
	return slices.Clip(items[start:end]), next
}

func (p Paging) link(request *Request, next string) string {
	query := url.Values{}
	maps.Copy(query, request.Query)
	query.Set(p.Param, next)
	target := url.URL{Scheme: "http", Host: request.Host}
	return "<" + target.String() + request.Path + "?" + query.Encode() + `>; rel="next"`
}
