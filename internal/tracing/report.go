package tracing

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// silence is how long nothing more is logged after a failure: a receiver that is away fails every few seconds.
const silence = time.Minute

// reporter logs what the library could not do.
type reporter struct {
	log logr.Logger
	now func() time.Time

	mu      sync.Mutex
	last    time.Time
	skipped int
}

func newReporter(log logr.Logger) *reporter {
	return &reporter{log: log.WithName("tracing"), now: time.Now} //nolint:forbidigo // the default of the injected clock
}

var _ otel.ErrorHandler = (*reporter)(nil)

// Handle implements otel.ErrorHandler.
func (r *reporter) Handle(err error) {
	r.mu.Lock()
	now := r.now()
	if !r.last.IsZero() && now.Sub(r.last) < silence {
		r.skipped++
		r.mu.Unlock()
		return
	}
	skipped := r.skipped
	r.last, r.skipped = now, 0
	r.mu.Unlock()
	r.log.Info("traces are lost: is the address of OTEL_EXPORTER_OTLP_ENDPOINT right, and the receiver up?", "error", err.Error(), "more", skipped)
}
