//go:build crash

package crash_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
)

// scene is one test's own: a namespace, a REST server, and the operator while it runs.
type scene struct {
	t         *testing.T
	namespace string
	server    *server
	operator  *installation.Operator
	dirs      []string
	totals    totals
	person    person
	// want is what the test asked for: the size of each custom resource that is to exist.
	want map[ref]int64
}

// ref names a custom resource.
type ref struct{ kind, name string }

// totals are what a test prints.
type totals struct{ kills, faults, objects, stuck, leaks int }

var namespaces int // the tests run one after the other

func newScene(t *testing.T) *scene {
	t.Helper()
	namespaces++
	s := &scene{
		t: t, namespace: fmt.Sprintf("crash-%d", namespaces), server: newServer(t), want: map[ref]int64{},
		person: person{since: map[string]time.Time{}, answers: map[string]int{}},
	}
	s.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: %s}
`, s.namespace)
	s.timeout("1s")
	t.Cleanup(s.end)
	return s
}

// timeout sets the endpoint's.
func (s *scene) timeout(d string) {
	s.t.Helper()
	s.endpoint("timeout: " + d)
}

// endpoint applies the endpoint with more of its spec, as a YAML flow mapping without braces.
func (s *scene) endpoint(more string) {
	s.t.Helper()
	s.apply(`
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: server, namespace: %s}
spec: {baseURL: %q, probe: {path: /probe}, %s}
`, s.namespace, s.server.URL, more)
}

func (s *scene) apply(format string, values ...any) {
	s.t.Helper()
	text := fmt.Sprintf(format, values...)
	if err := controlplane.ApplyYAML(s.t.Context(), shared.plane.Admin(), []byte(text)); err != nil {
		s.t.Fatalf("%v\n%s", err, text)
	}
}

// start starts the operator with more in its environment.
func (s *scene) start(env ...string) {
	s.t.Helper()
	s.operator = s.another(env...)
}

// another starts an operator beside the scene's own.
func (s *scene) another(env ...string) *installation.Operator {
	s.t.Helper()
	dir := s.t.TempDir()
	s.dirs = append(s.dirs, dir)
	operator, err := installation.Start(context.WithoutCancel(s.t.Context()), shared.plane, installation.Options{
		Root: shared.root, Dir: dir, Program: shared.program, Env: env,
		Args: []string{"--min-sync-interval=1s", installation.AllowLoopback, "--concurrency=16", "--kube-api-qps=500", "--kube-api-burst=500"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return operator
}

// kill ends the operator as a power cut does.
func (s *scene) kill() {
	s.t.Helper()
	if err := s.operator.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.operator = nil
	s.totals.kills++
}

// killed waits until the operator has ended itself.
func (s *scene) killed(within time.Duration) bool {
	select {
	case <-s.operator.Done():
		s.operator = nil
		s.totals.kills++
		return true
	case <-time.After(within):
		return false
	}
}

// end lets go of what a failed test leaves, so that the next one has its peace.
func (s *scene) end() {
	if s.operator != nil {
		s.operator.Stop()
	}
	for _, problem := range s.server.broken() {
		s.t.Errorf("seen by the server: %s", problem)
	}
	if s.t.Failed() {
		s.logs()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range classes() {
		s.abandon(ctx, c)
	}
}

const shownLog = 12 << 10

// logs shows the end of what the operators said, the newest last.
func (s *scene) logs() {
	for _, dir := range s.dirs[max(0, len(s.dirs)-2):] {
		text, err := os.ReadFile(dir + "/operator.log")
		if err != nil {
			continue
		}
		s.t.Logf("log of an operator:\n%s", text[max(0, len(text)-shownLog):])
	}
	var requests []string
	all := s.server.Requests()
	for _, r := range all[max(0, len(all)-80):] {
		requests = append(requests, fmt.Sprintf("%s %s %s -> %d committed=%t", r.Time.Format("05.000"), r.Method, r.Path, r.Status, r.Committed))
	}
	s.t.Logf("the last requests:\n%s", strings.Join(requests, "\n"))
}

// report prints what a test has gone through.
func (s *scene) report(what string) {
	s.t.Helper()
	duplicates := len(s.server.Duplicates())
	s.t.Logf("%s: kills %d, faults %d, objects %d, requests %d, duplicates %d, leaks %d, stuck %d",
		what, s.totals.kills, s.totals.faults, s.totals.objects, s.server.Count("", ""), duplicates, s.totals.leaks, s.totals.stuck)
}

// eventually polls until check gives "", and reports whether it did in time.
func (s *scene) eventually(what string, within time.Duration, check func() string) bool {
	s.t.Helper()
	deadline := time.Now().Add(within)
	for {
		problem := check()
		if problem == "" {
			return true
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%s: not within %s: %s", what, within, problem)
			return false
		}
		time.Sleep(150 * time.Millisecond)
	}
}

// patience is how long a scene may take to come to rest.
const patience = 90 * time.Second
