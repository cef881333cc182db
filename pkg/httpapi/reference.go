package httpapi

import (
	"errors"
	"net/url"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// maxReference bounds a reference that is kept for later.
const maxReference = 2048

// Reference gives a reference that a server gave in the answer to a request in a form that can be kept and be followed
// later: path and query on the client's own origin. It is refused where following it would be. The client's
// credential is left out: it is added again when the reference is followed.
func (c *Client) Reference(req rest.Request, reference string) (string, error) {
	from, err := c.target.resolve(req.Path)
	if err != nil {
		return "", err
	}
	u, err := c.target.follow(from, reference)
	if err != nil {
		return "", err
	}
	kept := u.EscapedPath()
	if query := c.withoutCredential(u.RawQuery); query != "" {
		kept += "?" + query
	}
	if len(kept) > maxReference {
		return "", errors.New("the URL is too long")
	}
	return kept, nil
}

// withoutCredential takes out of a query what the client's credential puts into every request.
func (c *Client) withoutCredential(raw string) string {
	credential := c.credential.query()
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if pair == "" || err == nil && contains(credential, name) {
			continue
		}
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, "&")
}
