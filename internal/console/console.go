package console

import (
	"context"
	"net/http"
	"net/http/pprof"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/mapping"
)

// Engine is what the console asks of the running mappings.
type Engine interface {
	State(mapping string) (engine.State, bool)
	Views(ctx context.Context, mapping string) ([]engine.View, bool)
	Reconcile(ctx context.Context, mapping string, keys []types.NamespacedName) (map[types.NamespacedName]pass.Summary, bool)
	Program(mapping string) *mapping.Program
}

// Config is what the console needs.
type Config struct {
	Engine Engine
	// Reader reads mappings and endpoints from the cache.
	Reader client.Reader
	// Leading tells whether this replica acts. Leader names the one that does, empty when it is not known.
	Leading func() bool
	Leader  func(ctx context.Context) string
	Clock   clock.PassiveClock
	// Version is the operator's.
	Version string
}

// Handlers gives what stands at each path. It decides nothing about who may ask.
func Handlers(cfg Config) map[string]http.Handler {
	c := &console{cfg}
	return map[string]http.Handler{
		"/status":              only(http.MethodGet, c.status),
		"/reconcile":           only(http.MethodPost, c.reconcile),
		"/debug/mappings":      only(http.MethodGet, c.mappings),
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}

type console struct{ Config }

// only lets one method through, and closes the answer to browsers: nothing of it may be framed, loaded or guessed.
func only(method string, handle http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		if r.Method != method {
			header.Set("Allow", method)
			http.Error(w, r.URL.Path+" answers "+method+" alone", http.StatusMethodNotAllowed)
			return
		}
		handle(w, r)
	})
}
