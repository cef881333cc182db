package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/restmapping/operator/pkg/rest"
)

const defaultAccept = "application/json"

// build turns a request into what net/http sends, or says why it must not be sent.
func (c *Client) build(req rest.Request) (*http.Request, error) {
	u, err := c.locate(req)
	if err != nil {
		return nil, err
	}
	header, err := c.header(req)
	if err != nil {
		return nil, err
	}
	if !validHeaderName(req.Method) {
		return nil, errors.New("the method is not an HTTP method")
	}
	out := &http.Request{
		Method: req.Method, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(req.Body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(req.Body))
		out.ContentLength = int64(len(req.Body))
	}
	if writes(req) {
		onceOnly(out)
	}
	return out, nil
}

func (c *Client) locate(req rest.Request) (*url.URL, error) {
	if req.Follow == "" {
		u, err := c.target.resolve(req.Path)
		if err != nil {
			return nil, err
		}
		u.RawQuery = c.requestQuery(req.Query)
		return u, nil
	}
	from := c.target.base
	if req.Path != "" {
		// A relative reference such as "?page=2" means the page it was found on (RFC 8288, section 3.2).
		found, err := c.target.resolve(req.Path)
		if err != nil {
			return nil, err
		}
		from = found
	}
	u, err := c.target.follow(from, req.Follow)
	if err != nil {
		return nil, fmt.Errorf("%s is refused: %w", followed(req.Operation), err)
	}
	u.RawQuery = c.followQuery(u.RawQuery)
	return u, nil
}

// followed names what a server's reference leads to.
func followed(operation rest.Operation) string {
	if operation == rest.Poll {
		return "the URL of the operation"
	}
	return "the next page"
}

// header merges in rising order of right: the client's own, the endpoint's, the operation's, the credential's.
func (c *Client) header(req rest.Request) (http.Header, error) {
	header := http.Header{"Accept": {defaultAccept}, "User-Agent": {c.userAgent}}
	setHeaders(header, c.headers)
	own := make([]rest.Parameter, 0, len(req.Headers)+2)
	if req.Accept != "" {
		own = append(own, rest.Parameter{Name: "Accept", Value: req.Accept})
	}
	if req.ContentType != "" {
		own = append(own, rest.Parameter{Name: "Content-Type", Value: req.ContentType})
	}
	for _, list := range [][]rest.Parameter{own, req.Headers} {
		for _, h := range list {
			if problem := headerProblem(h); problem != "" {
				return nil, errors.New(problem)
			}
		}
		setHeaders(header, list)
	}
	c.credential.applyHeaders(header)
	return header, nil
}

// writes reports whether sending the request twice could change something twice.
func writes(req rest.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return req.Operation.Mutating()
	default:
		return true
	}
}

// onceOnly takes from a write everything that lets net/http send it again on its own (Request.isReplayable and
// Transport.shouldRetryRequest): a body that can be rewound, a GET-like method with no body at all, and a header
// stored under exactly Idempotency-Key or X-Idempotency-Key. Header names have no case on the wire, so the server sees
// the same header under the lower-case name. What is left is a repeat on another connection when not one byte was
// written to the first, and that is the first send.
func onceOnly(out *http.Request) {
	out.GetBody = nil
	for name, key := range map[string]string{
		"Idempotency-Key":   "idempotency-key",
		"X-Idempotency-Key": "x-idempotency-key",
	} {
		if values, ok := out.Header[name]; ok {
			delete(out.Header, name)
			out.Header[key] = values
		}
	}
	if out.Body == nil && !hasFraming(out.Method) {
		// net/http looks into such a body, finds it empty and sends none; but it is one that cannot be rewound.
		out.Body = io.NopCloser(bytes.NewReader(nil))
	}
}

// hasFraming: net/http gives these methods a Content-Length even without a body, which a body of unknown length
// would turn into chunks.
func hasFraming(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	default:
		return false
	}
}
