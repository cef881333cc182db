package endpoints

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// identityBytes of the hash are kept: enough that two servers never share one by accident.
const identityBytes = 16

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
