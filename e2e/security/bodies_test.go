//go:build security

package security_test

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// mostMemory is the chart's limit.
const mostMemory = 512 << 20

// bodies: a server answers with what would fill the memory or never end.
func bodies(s *scene) {
	zeros := make([]byte, 1<<20)
	evil := listen(s.t, allowedHost, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		end := time.Now().Add(20 * time.Second)
		switch {
		case strings.Contains(r.URL.Path, "/bomb"):
			w.Header().Set("Content-Encoding", "gzip")
			packer := gzip.NewWriter(w)
			for range 10 << 10 { // 10 GiB
				if _, err := packer.Write(zeros); err != nil {
					return
				}
			}
		case strings.Contains(r.URL.Path, "/endless"):
			for time.Now().Before(end) {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		case strings.Contains(r.URL.Path, "/slow"):
			for time.Now().Before(end) && r.Context().Err() == nil {
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		case strings.Contains(r.URL.Path, "/deep"):
			_, _ = w.Write([]byte(strings.Repeat("[", 1<<20)))
		case strings.Contains(r.URL.Path, "/headers"):
			for i := range 4000 {
				w.Header().Add(fmt.Sprintf("X-%d", i), strings.Repeat("a", 100))
			}
		case strings.Contains(r.URL.Path, "/length"):
			w.Header().Set("Content-Length", "9000000000")
			_, _ = w.Write([]byte("{"))
		case strings.Contains(r.URL.Path, "/number"):
			_, _ = w.Write([]byte(`{"a":1e999999999,"b":` + strings.Repeat("9", 1<<20) + `}`))
		default:
			fine(w, r)
		}
	})
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "heavy", evil.URL, "circuitBreaker: {disabled: true}"))
	s.Apply("%s", mapping("heavy", "{kind: RestEndpoint, name: heavy}", plain))
	names := []string{"bomb", "endless", "slow", "deep", "headers", "length", "number"}
	var all strings.Builder
	for _, name := range names {
		for i := range 4 {
			all.WriteString(thing("heavy", "attacker", fmt.Sprintf("%s-%d", name, i), "{note: x}"))
		}
	}
	s.Apply("%s", all.String())
	for _, name := range names {
		for i := range 4 {
			said := s.reason(of("heavy", fmt.Sprintf("%s-%d", name, i)), "attacker", "Synced", func(said string) bool { return !strings.Contains(said, " Progressing:") })
			if strings.HasPrefix(said, "True") {
				s.t.Errorf("%s was taken: %s", name, said)
			}
		}
	}
	for _, r := range evil.requests() {
		if r.Method != http.MethodGet {
			s.t.Errorf("%s %s follows from an answer that says nothing", r.Method, r.URI)
		}
	}
	peak := s.peakMemory()
	if peak > mostMemory {
		s.t.Errorf("the operator took %d MiB", peak>>20)
	}
	s.t.Logf("%d bad bodies, 4 at once each: nothing was written, the operator took at most %d MiB", len(names), peak>>20)
}

// peakMemory is the most that the operator's process has held.
func (s *scene) peakMemory() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Operator.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				s.t.Fatal(err)
			}
			return kib << 10
		}
	}
	s.t.Fatal("no VmHWM")
	return 0
}
