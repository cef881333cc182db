package restfake

import (
	"net/http"
	"strings"
	"time"
)

// CommitMode says whether and when the request takes effect.
type CommitMode string

// The commit modes. The zero value is at once.
const (
	CommitNow   CommitMode = ""
	CommitNever CommitMode = "Never"
	// CommitLater takes effect after Fault.CommitAfter, whatever the client does meanwhile.
	CommitLater CommitMode = "Later"
)

// AnswerMode says what the client gets.
type AnswerMode string

// The answer modes. The zero value is the usual answer.
const (
	AnswerUsual   AnswerMode = ""
	AnswerInstead AnswerMode = "Instead"
	// AnswerDrop closes the connection without a byte.
	AnswerDrop AnswerMode = "Drop"
	// AnswerReset does so with a TCP reset.
	AnswerReset AnswerMode = "Reset"
	// AnswerHang says nothing until the client leaves or the server closes.
	AnswerHang AnswerMode = "Hang"
	// AnswerTruncated sends the status line, a Content-Length and half of the body.
	AnswerTruncated AnswerMode = "Truncated"
)

// Fault is what happens to one request. The zero value is nothing. The functions below make the usual ones, and their
// results may be changed further.
type Fault struct {
	// Delay comes before everything.
	Delay       time.Duration
	Commit      CommitMode
	CommitAfter time.Duration
	// HiddenFor keeps what the request changed from being seen by reads and lists.
	HiddenFor time.Duration
	Answer    AnswerMode
	// Status, Header, Body and BodyBytes are for AnswerInstead; BodyBytes of white space follow Body.
	Status    int
	Header    map[string]string
	Body      string
	BodyBytes int64
}

// Delay is slow and otherwise good.
func Delay(d time.Duration) Fault { return Fault{Delay: d} }

// Hang takes the request and does nothing.
func Hang() Fault { return Fault{Commit: CommitNever, Answer: AnswerHang} }

// CommitThenHang does what was asked and says nothing.
func CommitThenHang() Fault { return Fault{Answer: AnswerHang} }

// Drop closes the connection and does nothing.
func Drop() Fault { return Fault{Commit: CommitNever, Answer: AnswerDrop} }

// CommitThenDrop does what was asked and closes the connection.
func CommitThenDrop() Fault { return Fault{Answer: AnswerDrop} }

// CommitThenTruncate does what was asked and sends half of the answer.
func CommitThenTruncate() Fault { return Fault{Answer: AnswerTruncated} }

// Reply answers this and does nothing.
func Reply(status int, contentType, body string) Fault {
	return Fault{
		Commit: CommitNever, Answer: AnswerInstead, Status: status,
		Header: map[string]string{"Content-Type": contentType}, Body: body,
	}
}

// CommitThenReply does what was asked and answers something else, such as a 502 of a gateway.
func CommitThenReply(status int, contentType, body string) Fault {
	fault := Reply(status, contentType, body)
	fault.Commit = CommitNow
	return fault
}

// CommitLate answers with then, and does what was asked only after d.
func CommitLate(d time.Duration, then Fault) Fault {
	then.Commit, then.CommitAfter = CommitLater, d
	return then
}

// Hidden is good, but nobody sees the change before d has passed.
func Hidden(d time.Duration) Fault { return Fault{HiddenFor: d} }

// Throttle answers 429 with Retry-After in seconds or whatever text is given; see RetryAt for the other form.
func Throttle(retryAfter string) Fault {
	fault := Reply(http.StatusTooManyRequests, "application/json", `{"message":"slow down"}`)
	fault.Header["Retry-After"] = retryAfter
	return fault
}

// RetryAt is a Retry-After in the form of an HTTP-date.
func RetryAt(at time.Time) string { return at.UTC().Format(http.TimeFormat) }

// HTML answers 200 with a page, as a captive portal or a login does.
func HTML() Fault {
	return Reply(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html><html><body>Please log in</body></html>")
}

// Huge answers 200 with a JSON document of that many bytes.
func Huge(bytes int64) Fault {
	fault := Reply(http.StatusOK, "application/json", "{}")
	fault.BodyBytes = bytes - int64(len(fault.Body))
	return fault
}

// RedirectTo answers with a Location.
func RedirectTo(status int, location string) Fault {
	fault := Reply(status, "text/plain", "elsewhere")
	fault.Header["Location"] = location
	return fault
}

// Rule puts a fault on requests by method and path.
type Rule struct {
	// Method is any when empty.
	Method string
	// Path is a pattern: {x} is any one segment, a last * any rest; everything when empty.
	Path string
	// From is the number of the first matching request that is hit, 1 by default, and Times how many are; all by default.
	From, Times int
	Fault       Fault
}

// ruleState counts the matches of a rule.
type ruleState struct {
	Rule
	seen int
}

// hit counts a request that matches and reports whether it is one of those meant.
func (r *ruleState) hit(request *Request) bool {
	if r.Method != "" && !strings.EqualFold(r.Method, request.Method) {
		return false
	}
	if r.Path != "" {
		if _, ok := match(r.Path, request.Path); !ok {
			return false
		}
	}
	r.seen++
	first := max(r.From, 1)
	return r.seen >= first && (r.Times == 0 || r.seen < first+r.Times)
}
