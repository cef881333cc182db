//go:build cluster

package operator_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// overload stands before a server and answers 429 until it ends, counting.
type overload struct {
	next http.Handler

	mu      sync.Mutex
	until   time.Time
	refused int
	passed  int
}

func (o *overload) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	busy := time.Now().Before(o.until)
	if busy {
		o.refused++
	} else {
		o.passed++
	}
	o.mu.Unlock()
	if busy {
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	o.next.ServeHTTP(w, r)
}

func (o *overload) begin(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until, o.refused, o.passed = time.Now().Add(d), 0, 0
}

func (o *overload) counts() (refused, passed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refused, o.passed
}

// TestAnOverloadedServerIsNotStormed: many custom resources are created while their server answers 429 without a time.
// It gets a handful of requests meanwhile, and all are in sync soon after. THROTTLE_LONG=1 is a minute with 500.
func TestAnOverloadedServerIsNotStormed(t *testing.T) {
	objects, lasts, most := 40, 8*time.Second, 12
	if os.Getenv("THROTTLE_LONG") != "" {
		objects, lasts, most = 500, time.Minute, 25
	}
	l := lab.New(t)
	fake := restfake.New([]restfake.Collection{upsertThings})
	t.Cleanup(fake.Close)
	front := &overload{next: fake}
	listener := httptest.NewServer(front)
	t.Cleanup(listener.Close)
	kind := l.NewKind("")
	kind.Endpoint(listener.URL, "  limits: {requestsPerSecond: 50}")
	kind.Mapping(upsertMapping)
	kind.Create("first", "{size: 1}")
	kind.Ready("first")

	front.begin(lasts)
	start := time.Now()
	for i := range objects {
		kind.Create(fmt.Sprintf("thing-%d", i), "{size: 1}")
	}
	endpoint := l.Client.Resource(lab.EndpointGVR).Namespace(kind.Namespace)
	shown := false
	for time.Since(start) < lasts {
		e, err := endpoint.Get(t.Context(), "server", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		shown = shown || strings.Contains(fmt.Sprint(e.Object["status"]), "type:Throttled")
		time.Sleep(100 * time.Millisecond)
	}
	refused, _ := front.counts()
	if !shown {
		t.Error("the endpoint has not shown the condition Throttled")
	}
	for i := range objects {
		kind.Ready(fmt.Sprintf("thing-%d", i))
	}
	_, passed := front.counts()
	t.Logf("%d custom resources, 429 for %s: %d requests meanwhile, all in sync %s after its end with %d requests",
		objects, lasts, refused, (time.Since(start) - lasts).Round(100*time.Millisecond), passed)
	if refused == 0 || refused > most {
		t.Errorf("%d requests while the server was overloaded, want 1 to %d", refused, most)
	}
}
