package httpapi

import (
	"net/http"
	"strings"
)

// validCookieValue: RFC 6265, section 4.1.1, cookie-octet.
func validCookieValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b <= ' ' || b >= 0x7f || strings.IndexByte(`",;\`, b) >= 0 {
			return false
		}
	}
	return true
}

// setCookie adds a cookie to the one Cookie header that a request may have (RFC 6265, section 5.4), in place of others
// of the same name.
func setCookie(header http.Header, name, value string) {
	var kept []string
	for stored, lines := range header {
		if !strings.EqualFold(stored, "Cookie") {
			continue
		}
		for pair := range strings.SplitSeq(strings.Join(lines, ";"), ";") {
			pair = strings.TrimSpace(pair)
			if other, _, _ := strings.Cut(pair, "="); pair != "" && strings.TrimSpace(other) != name {
				kept = append(kept, pair)
			}
		}
	}
	deleteHeader(header, "Cookie")
	header.Set("Cookie", strings.Join(append(kept, name+"="+value), "; "))
}
