package tracing

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

func TestAReceiverThatIsAwayIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var lines []string
	r, now := newReporter(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})), time.Now()
	r.now = func() time.Time { return now }
	for range 13 {
		r.Handle(errors.New("connection refused"))
		now = now.Add(5 * time.Second)
	}
	if len(lines) != 2 || !strings.Contains(lines[0], "connection refused") || !strings.Contains(lines[1], `"more"=11`) {
		t.Errorf("logged %q", lines)
	}
}
