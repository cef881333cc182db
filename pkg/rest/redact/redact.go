// Package redact takes secrets out of texts, in every form in which they are sent: servers repeat what they were sent, in
// messages, in the addresses of redirects and in JSON. It knows no secret of its own and must not import anything of ours.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// shortest: shorter values stand in ordinary words too, and replacing them would only mark their places.
const shortest = 3

// Hide takes the longest out first: one secret may be a part of another.
func Hide(text string, secrets []string) string {
	var all []string
	for _, secret := range secrets {
		if len(secret) >= shortest {
			all = append(all, forms(secret)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, form := range slices.Compact(all) {
		text = strings.ReplaceAll(text, form, Mark)
	}
	return text
}

// forms are a secret as it is, in a query, in a path, in JSON, and in basic authentication's alphabet.
func forms(secret string) []string {
	query := url.QueryEscape(secret)
	all := []string{
		secret, query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
	}
	for _, form := range all[1:4] {
		all = append(all, lowerHex(form))
	}
	if quoted, err := json.Marshal(secret); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		all = append(all, inner, strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(inner))
	}
	return all
}

// lowerHex writes %2F as %2f.
func lowerHex(text string) string {
	out := []byte(text)
	for i := range len(out) - 2 {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(text[i+1:i+3]))
		}
	}
	return string(out)
}
