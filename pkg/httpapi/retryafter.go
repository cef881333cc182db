package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// longestRetryAfter keeps a server's mistake from stopping an object for good.
const longestRetryAfter = 24 * time.Hour

// retryAfter reads both forms of Retry-After (RFC 9110, section 10.2.3). What cannot be used is zero.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if wait, ok := delaySeconds(value); ok {
		return wait
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestRetryAfter)
}

// delaySeconds reads digits only, so that any length of them ends in the cap and not in an overflow.
func delaySeconds(digits string) (time.Duration, bool) {
	var wait time.Duration
	for _, r := range digits {
		if r < '0' || r > '9' {
			return 0, false
		}
		wait = min(wait*10+time.Duration(r-'0')*time.Second, longestRetryAfter)
	}
	return wait, true
}
