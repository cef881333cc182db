//go:build crash

package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/restfake"
)

// apiServer is the kube-apiserver of the control plane, which can be taken away and brought back.
type apiServer struct {
	pid  int
	args []string
}

// findAPIServer looks for it among the children of this process.
func findAPIServer(t *testing.T) *apiServer {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		text, err := os.ReadFile(path)
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && bad == nil && filepath.Base(args[0]) == "kube-apiserver" && parent(pid) == os.Getpid() {
			return &apiServer{pid: pid, args: args}
		}
	}
	t.Skip("the API server's process cannot be found here")
	return nil
}

// parent is the number of a process's parent, as the kernel tells it.
func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

func (a *apiServer) kill() { _ = syscall.Kill(a.pid, syscall.SIGKILL) }

// restart runs it again as it ran before; it ends with the program of the tests.
func (a *apiServer) restart(t *testing.T) {
	t.Helper()
	p, err := process.Start(process.Config{
		Name: "kube-apiserver", Path: a.args[0], Args: a.args[1:], LogFile: filepath.Join(shared.plane.Dir(), "kube-apiserver-again.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	shared.later(func() { p.Stop(3 * time.Second) })
}

// TestAPIServerGoneAfterACreate takes the API server away at the very moment at which a create takes effect, for 15
// seconds, and for a minute in the long form. What was made must be remembered by the process, and no second object made.
func TestAPIServerGoneAfterACreate(t *testing.T) {
	s := newScene(t)
	s.start()
	var armed atomic.Bool
	api := findAPIServer(t)
	s.server.created = func(o restfake.Object) {
		if o.Collection == "/unsaves" && armed.CompareAndSwap(true, false) {
			api.kill()
		}
	}
	s.server.set(latency)
	armed.Store(true)
	for _, c := range classes() {
		if err := s.tryCreate(c, "object", 1, nil, nil); err != nil {
			t.Logf("create %s: %v", c.kind, err) // it may be gone already
		}
	}
	s.eventually("the API server is taken away", patience, func() string {
		if armed.Load() {
			return "no create yet"
		}
		return ""
	})
	away := 15 * time.Second
	if long() {
		away = time.Minute
	}
	time.Sleep(away)
	api.restart(t)
	s.eventually("the API server is back", patience, func() string {
		if _, err := s.resource(classes()[0]).List(t.Context(), metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	for _, c := range classes() {
		if s.get(c, "object") == nil {
			s.create(c, "object", 1)
		}
	}
	s.rest("after the API server is back")
	if len(s.person.answers) > 0 {
		t.Error("the operator asked a person although it knew the answer to its create")
	}
	s.deleteAll("deleted after the API server is back")
	s.report("API server gone after a create")
}

// TestTwoOperatorsAtOnce runs two operators without leader election, both sure to be alone.
func TestTwoOperatorsAtOnce(t *testing.T) {
	s := newScene(t)
	s.server.set(latency)
	s.start()
	second := s.another()
	t.Cleanup(second.Stop)
	c := newChurn(s, seed(t), 10)
	c.without = "Unsafe"
	c.during(20*time.Second, 30*time.Millisecond)
	s.rest("with two operators")
	s.deleteAll("deleted with two operators")
	s.report("two operators at once")
	t.Logf("steps %d", c.steps)
}
