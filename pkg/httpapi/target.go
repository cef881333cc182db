package httpapi

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// target is where every request of a client must go: an origin and a path prefix.
type target struct {
	origin string // scheme://host[:port]
	prefix string // escaped path of the base URL without a slash at the end
	base   *url.URL
}

func newTarget(baseURL string) (target, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil:
		// The text of the error repeats the URL, which may hold a password by mistake.
		return target{}, &ConfigError{Field: "baseURL", Message: "is not a URL such as https://api.example.com/v1"}
	case u.Scheme != "http" && u.Scheme != "https":
		return target{}, &ConfigError{Field: "baseURL", Message: "must begin with http:// or https://"}
	case u.Hostname() == "":
		return target{}, &ConfigError{Field: "baseURL", Message: "has no host"}
	case u.User != nil:
		return target{}, &ConfigError{Field: "baseURL", Message: "must not hold a user or a password: use auth"}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return target{}, &ConfigError{Field: "baseURL", Message: "must not hold a query or a fragment: use query"}
	}
	prefix := strings.TrimRight(u.EscapedPath(), "/")
	if err := checkSegments(prefix); err != nil {
		return target{}, &ConfigError{Field: "baseURL", Message: err.Error()}
	}
	return target{origin: u.Scheme + "://" + u.Host, prefix: prefix, base: u}, nil
}

// host is where connections lead, with the port even where the base URL leaves it out: for messages.
func (t target) host() string {
	port := t.base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[t.base.Scheme]
	}
	return net.JoinHostPort(t.base.Hostname(), port)
}

// resolve appends an escaped path to the base URL, byte for byte.
func (t target) resolve(path string) (*url.URL, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("the path does not begin with a slash")
	}
	if strings.ContainsAny(path, "?#") {
		return nil, errors.New("the path holds an unescaped ? or #")
	}
	u, err := url.Parse(t.origin + t.prefix + path)
	if err != nil || u.EscapedPath() != t.prefix+path {
		return nil, errors.New("the path holds a character that must be percent-encoded")
	}
	return u, t.check(u)
}

// follow resolves a reference that a server gave, seen from the URL it was found at.
func (t target) follow(from *url.URL, reference string) (*url.URL, error) {
	ref, err := url.Parse(strings.TrimSpace(reference))
	if err != nil {
		return nil, errors.New("the server's reference is not a URL")
	}
	u := from.ResolveReference(ref)
	u.Fragment, u.RawFragment = "", ""
	return u, t.check(u)
}

// check is the last word on where a request goes.
func (t target) check(u *url.URL) error {
	if u.Opaque != "" || u.User != nil {
		return errors.New("the URL holds a user, or no host")
	}
	if !sameOrigin(u, t.base) {
		return errors.New("the URL leaves the scheme, host or port of the base URL")
	}
	path := u.EscapedPath()
	if path != t.prefix && !strings.HasPrefix(path, t.prefix+"/") {
		return errors.New("the URL leaves the path of the base URL")
	}
	return checkSegments(path)
}

// checkSegments refuses what a server or a proxy might take for a step up the tree, escaped or not.
func checkSegments(path string) error {
	for segment := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return errors.New("the path holds a bad percent-encoding")
		}
		if decoded == "." {
			return errors.New(`the path holds the segment "."`)
		}
		for part := range strings.FieldsFuncSeq(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == ".." {
				return errors.New(`the path holds a ".." segment`)
			}
		}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

// showLocation is a URL for messages: no user, no query, no fragment, and not endless.
func showLocation(u *url.URL) string {
	return cut((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String())
}

// cut keeps what a server said from filling a message.
func cut(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
