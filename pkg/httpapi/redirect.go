package httpapi

import (
	"io"
	"net/http"
	"net/url"

	"github.com/restmapping/operator/pkg/rest"
)

const (
	mostRedirects = 5
	// discardBytes of a redirect's body are read so that the connection can be used again.
	discardBytes = 64 << 10
)

// redirects reports whether an answer sends the client elsewhere. Without a Location it is an answer like any other.
func redirects(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return answer.Header.Get("Location") != ""
	default:
		return false
	}
}

// redirect gives the next request of a read, or says why the redirect is not followed. A write is never followed:
// net/http's own client would turn it into a GET or send it twice, and would hand secret headers to another host.
func (a *attempt) redirect(out *http.Request, answer *http.Response, hops int) (*http.Request, string) {
	location := answer.Header.Get("Location")
	if writes(a.req) || len(a.req.Body) > 0 {
		return nil, "which is not followed when something is sent: set baseURL or the path to where it points"
	}
	if hops >= mostRedirects {
		return nil, "after 5 others: the server sends the client in a circle"
	}
	u, err := a.client.target.follow(out.URL, location)
	if err != nil {
		return nil, "which is not followed (" + err.Error() + "): set baseURL to where the server is"
	}
	u.RawQuery = a.client.followQuery(u.RawQuery)
	next := out.Clone(out.Context())
	next.URL, next.Host = u, u.Host
	return next, ""
}

func (a *attempt) redirected(answer *http.Response, problem string) rest.Exchange {
	response := head(answer)
	shown := "somewhere that is not a URL"
	response.Headers["location"] = ""
	if u, err := url.Parse(answer.Header.Get("Location")); err == nil {
		shown = showLocation(u)
		// The query of a redirect often holds a one-time secret, and nobody may use the address anyway.
		response.Headers["location"] = shown
	}
	return rest.Exchange{
		Response: response,
		Failure:  a.failure(rest.Redirected, nil, "the server answered %d with a redirect to %s, %s", answer.StatusCode, shown, problem),
	}
}

// discard reads a body that nobody wants and closes it. The errors of a body that nobody wants are of no interest.
func discard(answer *http.Response) {
	_, _ = io.CopyN(io.Discard, answer.Body, discardBytes)
	_ = answer.Body.Close()
}
