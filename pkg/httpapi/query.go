package httpapi

import (
	"net/url"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// encodeQuery keeps the order of the parameters and writes a space as %20, which every server understands.
func encodeQuery(parameters []rest.Parameter) string {
	pairs := make([]string, 0, len(parameters))
	for _, p := range parameters {
		pairs = append(pairs, escapeQuery(p.Name)+"="+escapeQuery(p.Value))
	}
	return strings.Join(pairs, "&")
}

func escapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// requestQuery is the endpoint's defaults, then the request's own, then the credential's.
func (c *Client) requestQuery(own []rest.Parameter) string {
	credential := c.credential.query()
	all := without(c.query, own)
	all = append(all, own...)
	return encodeQuery(append(without(all, credential), credential...))
}

// followQuery keeps the query of a server's reference, fills in the defaults it lacks and renews the credential.
func (c *Client) followQuery(raw string) string {
	credential := c.credential.query()
	given := map[string]bool{}
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if pair == "" || err == nil && contains(credential, name) {
			continue
		}
		given[name] = true
		pairs = append(pairs, pair)
	}
	for _, p := range append(without(c.query, credential), credential...) {
		if !given[p.Name] {
			pairs = append(pairs, encodeQuery([]rest.Parameter{p}))
		}
	}
	return strings.Join(pairs, "&")
}

// without gives a new list of those whose name is not in the other list.
func without(list, other []rest.Parameter) []rest.Parameter {
	kept := make([]rest.Parameter, 0, len(list)+len(other))
	for _, p := range list {
		if !contains(other, p.Name) {
			kept = append(kept, p)
		}
	}
	return kept
}

func contains(list []rest.Parameter, name string) bool {
	for _, p := range list {
		if p.Name == name {
			return true
		}
	}
	return false
}
