package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// headerProblem says why a header cannot be sent, naming it but never its value; empty when it can.
func headerProblem(h rest.Parameter) string {
	if problem := headerNameProblem(h.Name); problem != "" {
		return fmt.Sprintf("header %q %s", h.Name, problem)
	}
	if !validHeaderValue(h.Value) {
		return fmt.Sprintf("the value of header %q holds a line break or a control character", h.Name)
	}
	return ""
}

func headerNameProblem(name string) string {
	if !validHeaderName(name) {
		return "is not a header name (RFC 9110, section 5.1)"
	}
	// These choose the host, the framing or the compression, which belong to this package alone.
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection",
		"upgrade", "te", "trailer", "expect", "accept-encoding":
		return "is set by the HTTP client itself: remove it"
	}
	return ""
}

func validHeaderName(name string) bool {
	if name == "" {
		return false
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return true
}

func validHeaderValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// deleteHeader removes a header in whatever case its name was stored.
func deleteHeader(header http.Header, name string) {
	for stored := range header {
		if strings.EqualFold(stored, name) {
			delete(header, stored)
		}
	}
}

// setHeaders puts a list of headers in place of those with the same names; a name that stands more than once is sent
// more than once.
func setHeaders(header http.Header, list []rest.Parameter) {
	for _, h := range list {
		deleteHeader(header, h.Name)
	}
	for _, h := range list {
		header.Add(h.Name, h.Value)
	}
}

// responseHeaders gives lower-case names and joined values (RFC 9110, section 5.3).
func responseHeaders(header http.Header) map[string]string {
	headers := make(map[string]string, len(header))
	for name, values := range header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return headers
}
