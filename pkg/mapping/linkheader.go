package mapping

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// nextLink gives the target of the first link with rel="next" in a Link header (RFC 8288); empty when there is none.
// A link about something else than the list itself (anchor) does not count.
func nextLink(header string) string {
	for rest := header; rest != ""; {
		start := strings.IndexByte(rest, '<')
		if start < 0 {
			return ""
		}
		length := strings.IndexByte(rest[start:], '>')
		if length < 0 {
			return ""
		}
		target := rest[start+1 : start+length]
		var parameters []linkParameter
		parameters, rest = linkParameters(rest[start+length+1:])
		if isNext(parameters) {
			return strings.TrimSpace(target)
		}
	}
	return ""
}

type linkParameter struct{ name, value string }

func isNext(parameters []linkParameter) bool {
	relation, found := "", false
	for _, p := range parameters {
		switch p.name {
		case "anchor":
			return false
		case "rel":
			if !found { // only the first counts (section 3.3)
				relation, found = p.value, true
			}
		}
	}
	return slices.ContainsFunc(strings.Fields(relation), func(r string) bool { return strings.EqualFold(r, "next") })
}

// linkParameters reads ;name=value pairs up to the comma that ends the link, and gives what follows it.
func linkParameters(text string) ([]linkParameter, string) {
	var parameters []linkParameter
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" || text[0] != ';' {
			_, after, _ := strings.Cut(text, ",")
			return parameters, after
		}
		name, rest := splitAny(text[1:], "=;,")
		p := linkParameter{name: strings.ToLower(strings.TrimSpace(name))}
		if strings.HasPrefix(rest, "=") {
			p.value, rest = parameterValue(rest[1:])
		}
		parameters, text = append(parameters, p), rest
	}
}

func parameterValue(text string) (value, rest string) {
	text = strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(text, `"`) {
		value, rest = splitAny(text, ";,")
		return strings.TrimSpace(value), rest
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:]
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}

// splitAny cuts before the first of the characters.
func splitAny(text, characters string) (before, from string) {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// parseQuery reads a query string and keeps its order.
func parseQuery(query string) ([]rest.Parameter, error) {
	query, _, _ = strings.Cut(query, "#")
	var parameters []rest.Parameter
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return nil, fmt.Errorf("query of a link: %w", err)
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return nil, fmt.Errorf("query of a link: %w", err)
		}
		parameters = append(parameters, rest.Parameter{Name: name, Value: value})
	}
	return parameters, nil
}
