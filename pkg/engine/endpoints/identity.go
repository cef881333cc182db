package endpoints

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// identityBytes of the hash are kept: enough that two servers never share one by accident.
const identityBytes = 16

// Identity is a stable name of the server at a base URL, as Endpoint.Identity gives it.
func Identity(baseURL string) (string, error) { return identityOf(baseURL) }

// IdentityOf gives that of the server to which an endpoint leads now, from the cache and without connecting.
func (r *Registry) IdentityOf(ctx context.Context, own Ref) (string, error) {
	d, err := r.get(ctx, own.Own())
	if err != nil {
		return "", err
	}
	return identityOf(d.spec.BaseURL)
}

// identityOf is a stable name of a server: a hash of scheme, host, port and base path, written in one way however the
// URL was written. It is the same for every credential and for every endpoint object that leads there.
func identityOf(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", err
	}
	scheme := strings.ToLower(u.Scheme)
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	path := strings.TrimRight(u.EscapedPath(), "/")
	sum := sha256.Sum256([]byte(strings.Join([]string{scheme, host, port, path}, "\n")))
	return hex.EncodeToString(sum[:identityBytes]), nil
}
