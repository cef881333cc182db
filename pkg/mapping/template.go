package mapping

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// maxIdentifierLength bounds one identifier, which also has to fit into an annotation.
const maxIdentifierLength = 2048

// pathTemplate is a request path with {name} parameters, split into segments so that no value can add one.
type pathTemplate struct {
	source   string
	segments [][]pathPiece
}

// pathPiece is literal text, already in URL form, or one parameter.
type pathPiece struct {
	literal   string
	parameter string
}

// parsePathTemplate reads a path as OpenAPI writes it. A parameter may stand beside literal text in its segment, as
// in /users('{id}') or /{id}:undelete.
func parsePathTemplate(source string) (*pathTemplate, error) {
	if !strings.HasPrefix(source, "/") {
		return nil, &syntaxError{1, "a path begins with a slash; it is appended to the endpoint's baseURL"}
	}
	t := &pathTemplate{source: source}
	parts := strings.Split(source[1:], "/")
	column := 2
	for i, part := range parts {
		segment, err := parsePathSegment(part, column)
		if err != nil {
			return nil, err
		}
		if part == "" && i < len(parts)-1 {
			return nil, &syntaxError{column, "the path has an empty segment (//)"}
		}
		t.segments = append(t.segments, segment)
		column += len(part) + 1
	}
	return t, nil
}

func parsePathSegment(part string, column int) ([]pathPiece, error) {
	var pieces []pathPiece
	for rest := part; rest != ""; {
		at := column + len(part) - len(rest)
		if rest[0] == '{' {
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return nil, &syntaxError{at, "{ is not closed; a parameter is written {name} and cannot hold a slash"}
			}
			if name := rest[1:end]; !isIdentifierName(name) {
				return nil, &syntaxError{at, fmt.Sprintf("{%s} is not a parameter; a name holds letters, digits and _ and does not begin with a digit", name)}
			}
			pieces = append(pieces, pathPiece{parameter: rest[1:end]})
			rest = rest[end+1:]
			continue
		}
		literal := rest
		if next := strings.IndexByte(rest, '{'); next >= 0 {
			literal = rest[:next]
		}
		if err := checkLiteral(literal, at); err != nil {
			return nil, err
		}
		pieces = append(pieces, pathPiece{literal: literal})
		rest = rest[len(literal):]
	}
	return pieces, checkDots(part, column)
}

// checkDots refuses the segments that a server or proxy would resolve as "here" and "above".
func checkDots(part string, column int) error {
	decoded, err := url.PathUnescape(part)
	if err != nil {
		return &syntaxError{column, "a % is not followed by two hexadecimal digits; write it as %25"}
	}
	if decoded == "." || decoded == ".." {
		return &syntaxError{column, "the segments . and .. cannot stand in a path"}
	}
	return nil
}

// checkLiteral admits the characters of a path segment (RFC 3986, section 3.3) and nothing else.
func checkLiteral(literal string, column int) error {
	for i := range len(literal) {
		c := literal[i]
		if !isUnreserved(c) && !strings.ContainsRune("%!$&'()*+,;=:@", rune(c)) {
			return &syntaxError{column + i, fmt.Sprintf("%q cannot stand in a path; write it percent-encoded, as %%%02X", c, c)}
		}
	}
	return nil
}

func isIdentifierName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// isUnreserved says which bytes mean themselves everywhere in a URL (RFC 3986, section 2.3).
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// escapeSegment encodes everything that is not unreserved, so that a value is one segment for every server and proxy.
func escapeSegment(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; isUnreserved(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// parameters lists the names in the template, each once, in order.
func (t *pathTemplate) parameters() []string {
	var names []string
	for _, segment := range t.segments {
		for _, piece := range segment {
			if piece.parameter != "" && !slices.Contains(names, piece.parameter) {
				names = append(names, piece.parameter)
			}
		}
	}
	return names
}

// endsWithParameter tells whether the last segment holds one of these parameters.
func (t *pathTemplate) endsWithParameter(is func(name string) bool) bool {
	last := t.segments[len(t.segments)-1]
	return slices.ContainsFunc(last, func(p pathPiece) bool { return p.parameter != "" && is(p.parameter) })
}

// render fills the parameters in. field names the place of the template in the mapping.
func (t *pathTemplate) render(identifiers map[string]string, field string) (string, error) {
	var path strings.Builder
	for _, segment := range t.segments {
		path.WriteByte('/')
		for _, piece := range segment {
			if piece.parameter == "" {
				path.WriteString(piece.literal)
				continue
			}
			value, known := identifiers[piece.parameter]
			if !known {
				return "", &IdentifierError{piece.parameter, field, "is not known yet, so the path cannot be built"}
			}
			if problem := identifierProblem(value); problem != "" {
				return "", &IdentifierError{piece.parameter, field, problem}
			}
			path.WriteString(escapeSegment(value))
		}
	}
	return path.String(), nil
}

// identifierProblem says why a value cannot be an identifier; empty when it can.
func identifierProblem(value string) string {
	switch {
	case value == "":
		return "is empty; a path segment cannot be"
	case value == ".", value == "..":
		return "is . or .., which a server would resolve"
	case len(value) > maxIdentifierLength:
		return fmt.Sprintf("is longer than %d bytes", maxIdentifierLength)
	}
	return ""
}
