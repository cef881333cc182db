package lab

import (
	"net/http/httptest"

	"github.com/restmapping/operator/internal/restfake"
)

// Server is a scripted REST server on loopback.
type Server struct {
	*restfake.Server
	// URL is its base URL.
	URL string
}

// NewServer starts a server that ends with the test.
func (l *Lab) NewServer(collections []restfake.Collection, options ...restfake.Option) *Server {
	l.tb.Helper()
	fake := restfake.New(collections, options...)
	listener := httptest.NewServer(fake)
	l.tb.Cleanup(func() {
		fake.Close()
		listener.Close()
	})
	return &Server{Server: fake, URL: listener.URL}
}

// Int gives a JSON number as an int, whichever Go type it was decoded to.
func Int(value any) int {
	switch n := value.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	case int:
		return n
	default:
		return -1
	}
}
