package httpapi

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/restmapping/operator/pkg/rest"
)

const (
	// firstPause is how long nothing is sent after a 429 or 503 that names no time. It doubles up to longestPause while
	// the server goes on to say so.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// longestAsked bounds what a server may ask for with Retry-After.
	longestAsked = 15 * time.Minute
	// slowest is the lowest rate, in requests a second.
	slowest = 0.5
	// steps is how many seconds of good answers it takes from nothing to the full rate.
	steps = 60
)

// pace slows a whole endpoint down when its server asks for that with 429 or 503, whichever mapping or object the
// request was for. Nothing is sent for the time in Retry-After, or for a pause that doubles. Then one request goes alone.
// If it is answered, the others follow at half the rate of before, which grows by a fixed step a second: every client
// that does so finds the share that the server has for it.
//
// It never waits. What may not be sent now is given back with the time to come again.
type pace struct {
	now    func() time.Time
	bucket *rate.Limiter
	full   rate.Limit
	burst  int

	mu sync.Mutex
	// until is the end of the pause, and next how long the next one is if the server names no time.
	until time.Time
	next  time.Duration
	// doubted: no good answer since the last 429; trying: one request is on its way to see.
	doubted, trying bool
	// episode counts the times that the server asked: answers to what was sent before the last one are no news.
	episode int
	limit   rate.Limit
	raised  time.Time
	paused  time.Duration
}

func newPace(cfg Config, now func() time.Time) *pace {
	full := rate.Limit(cfg.RequestsPerSecond)
	return &pace{
		now: now, bucket: rate.NewLimiter(full, cfg.Burst),
		full: full, burst: cfg.Burst, limit: full, next: firstPause,
	}
}

// ticket is the leave to send one request.
type ticket struct {
	episode int
	alone   bool
}

// admit gives leave, or the time to wait instead.
func (p *pace) admit() (ticket, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := p.until.Sub(p.now()); left > 0 {
		return ticket{}, left
	}
	if !p.doubted {
		return ticket{episode: p.episode}, 0
	}
	if p.trying {
		return ticket{}, tryAgain
	}
	p.trying = true
	return ticket{episode: p.episode, alone: true}, 0
}

// left is how long the pause still lasts; not positive without one.
func (p *pace) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until.Sub(p.now())
}

// done learns from the exchange, and reports whether slowing down began or ended. It must be called once for each ticket.
func (p *pace) done(t ticket, x rest.Exchange) (turned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.slowed()
	if t.alone {
		p.trying = false
	}
	switch {
	case asksForLess(x):
		p.slow(t, x.RetryAfter)
	case x.Response != nil && t.episode == p.episode:
		p.recover()
	}
	return before != p.slowed()
}

func asksForLess(x rest.Exchange) bool {
	return x.Response != nil && (x.Response.Status == http.StatusTooManyRequests || x.Response.Status == http.StatusServiceUnavailable)
}

// slow begins a pause, or makes it longer. Several requests that were on their way together count as one.
func (p *pace) slow(t ticket, asked time.Duration) {
	now := p.now()
	wait := min(asked, longestAsked)
	if t.episode == p.episode {
		if wait <= 0 {
			wait, p.next = p.next, min(2*p.next, longestPause)
		}
		if !p.doubted {
			p.set(max(p.limit/2, min(slowest, p.full)))
		}
		p.episode++
		p.doubted, p.raised = true, now
	}
	if end := now.Add(wait); end.After(p.until) {
		p.paused += end.Sub(later(p.until, now))
		p.until = end
	}
}

// recover takes a good answer for a sign that more can be sent.
func (p *pace) recover() {
	now := p.now()
	if p.doubted {
		p.doubted, p.next, p.raised = false, firstPause, now
	}
	if p.limit >= p.full {
		return
	}
	if seconds := now.Sub(p.raised).Seconds(); seconds >= 1 {
		p.set(min(p.full, p.limit+p.full*rate.Limit(seconds/steps)))
		p.raised = now
	}
}

// set changes the rate. Below the full one there are no bursts.
func (p *pace) set(limit rate.Limit) {
	p.limit = limit
	burst := 1
	if limit >= p.full {
		burst = p.burst
	}
	p.bucket.SetLimit(limit)
	p.bucket.SetBurst(burst)
}

func (p *pace) slowed() bool { return p.doubted || p.limit < p.full }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
