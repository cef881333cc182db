package goldenmapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// log writes one exchange: the request, then the answer, each with its headers and, after an empty line, its body.
func (r *Result) log(req rest.Request, x Exchange) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", req.Method, Target(req))
	writeHeaders(&b, RequestHeaders(req))
	writeBody(&b, req.Body)
	fmt.Fprintf(&b, "\n%d %s\n", x.Status, http.StatusText(x.Status))
	for _, name := range sortedKeys(x.Headers) {
		fmt.Fprintf(&b, "%s: %s\n", http.CanonicalHeaderKey(name), x.Headers[name])
	}
	if x.Body != nil {
		writeBody(&b, encode(x.Body))
	}
	r.transcript = append(r.transcript, b.String())
}

// encode writes JSON as servers do, without escapes for HTML. What was read from a file can be written again.
func encode(body any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return []byte(err.Error())
	}
	return b.Bytes()
}

// Target is a request's path and query as they are sent.
func Target(req rest.Request) string {
	if req.Follow != "" {
		return req.Follow
	}
	pairs := make([]string, 0, len(req.Query))
	for _, p := range req.Query {
		pairs = append(pairs, escape(p.Name)+"="+escape(p.Value))
	}
	if len(pairs) == 0 {
		return req.Path
	}
	return req.Path + "?" + strings.Join(pairs, "&")
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// requestPath gives the path of a line that begins a request.
func requestPath(line string) (string, bool) {
	method, target, found := strings.Cut(line, " ")
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	if !found || !slices.Contains(methods, method) {
		return "", false
	}
	path, _, _ := strings.Cut(target, "?")
	return path, true
}

// RequestHeaders are those of a request that its mapping decides.
func RequestHeaders(req rest.Request) []rest.Parameter {
	accept := req.Accept
	if accept == "" {
		accept = "application/json"
	}
	headers := []rest.Parameter{{Name: "Accept", Value: accept}}
	if len(req.Body) > 0 {
		headers = append(headers, rest.Parameter{Name: "Content-Type", Value: req.ContentType})
	}
	return append(headers, req.Headers...)
}

func writeHeaders(b *strings.Builder, headers []rest.Parameter) {
	for _, h := range headers {
		fmt.Fprintf(b, "%s: %s\n", h.Name, h.Value)
	}
}

// writeBody indents JSON; a body that is none is written as it is.
func writeBody(b *strings.Builder, body []byte) {
	if len(body) == 0 {
		return
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		pretty.Reset()
		pretty.Write(body)
	}
	fmt.Fprintf(b, "\n%s\n", bytes.TrimRight(pretty.Bytes(), "\n"))
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
