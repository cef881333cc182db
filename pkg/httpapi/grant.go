package httpapi

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// longestToken is far above every real one and below what servers take as a header.
const longestToken = 32 << 10

// grant is what a login gave: the parts that requests carry from then on.
type grant struct {
	headers []SecretHeader
	cookies []secretCookie
	fetched time.Time
	// expires is zero when nothing was said about it.
	expires time.Time
	// worked is set when a server accepted it once.
	worked atomic.Bool
}

// secretCookie is a cookie whose value is hidden.
type secretCookie struct {
	name  string
	value Secret
}

// ended reports whether it is known to be good no more.
func (g *grant) ended(now time.Time) bool { return !g.expires.IsZero() && !now.Before(g.expires) }

// ending reports whether it is time to get another one.
func (g *grant) ending(now time.Time) bool {
	if g.expires.IsZero() {
		return false
	}
	ahead := min(refreshAhead, g.expires.Sub(g.fetched)/10)
	return !now.Before(g.expires.Add(-ahead))
}

// until sets when it ends. A time that has passed already says nothing: a clock is wrong somewhere, and the server will
// refuse what it does not take.
func (g *grant) until(expires time.Time) {
	if expires.After(g.fetched) && (g.expires.IsZero() || expires.Before(g.expires)) {
		g.expires = expires
	}
}

// authorize puts it on a request, in place of whatever stood there under the same names.
func (g *grant) authorize(header http.Header) {
	for _, h := range g.headers {
		deleteHeader(header, h.Name)
		header.Set(h.Name, h.Prefix+h.Value.Reveal())
	}
	for _, c := range g.cookies {
		setCookie(header, c.name, c.value.Reveal())
	}
}

// problem says why a request could not carry it, without showing it; empty when it can.
func (g *grant) problem() string {
	for _, h := range g.headers {
		switch {
		case h.Value.Empty():
			return "an empty token"
		case len(h.Value.Reveal()) > longestToken:
			return "a token of more than 32 KiB"
		case !validHeaderValue(h.Prefix + h.Value.Reveal()):
			return "a token with a line break or a control character"
		}
	}
	for _, c := range g.cookies {
		switch {
		case c.value.Empty():
			return "an empty cookie"
		case len(c.value.Reveal()) > longestToken:
			return "a cookie of more than 32 KiB"
		case !validHeaderValue(c.value.Reveal()) || strings.Contains(c.value.Reveal(), ";"):
			return "a value that a cookie cannot carry (RFC 6265, section 4.1.1)"
		}
	}
	return ""
}

func (g *grant) secrets() []Secret {
	var all []Secret
	for _, h := range g.headers {
		all = append(all, h.Value)
	}
	for _, c := range g.cookies {
		all = append(all, c.value)
	}
	return all
}
