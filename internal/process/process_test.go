package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/process"
)

// shell starts a shell script as the child.
func shell(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Config{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(t.TempDir(), "script.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// readNumber waits until the file holds a number.
func readNumber(t *testing.T, p *process.Process, path string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	number := 0
	err := p.WaitReady(ctx, func(context.Context) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		number, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// waitGone waits until no process has the id.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestStopEndsTheChildAndItsChildren(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	p := shell(t, "sleep 600 & echo $! >"+file+"; wait")
	grandchild := readNumber(t, p, file)
	p.Stop(10 * time.Second)
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is still there after Stop: %v", err)
	}
	waitGone(t, grandchild)
	p.Stop(10 * time.Second) // a second call is harmless
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	p := shell(t, "trap '' TERM; echo $$ >"+file+"; while :; do sleep 1; done")
	readNumber(t, p, file)
	p.Stop(10 * time.Millisecond)
	waitGone(t, p.PID())
}

func TestWaitReadyReportsTheLogOfAChildThatEnded(t *testing.T) {
	t.Parallel()
	p := shell(t, "echo the port is taken >&2; exit 3")
	err := p.WaitReady(t.Context(), func(context.Context) error { return errors.New("not yet") })
	var exit *process.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("want an ExitError, got %v", err)
	}
	if exit.Tail != "the port is taken" {
		t.Errorf("tail of the log: %q", exit.Tail)
	}
}

func TestWaitReadyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := shell(t, "sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	cause := errors.New("connection refused")
	calls := 0
	err := p.WaitReady(ctx, func(context.Context) error {
		if calls++; calls == 3 {
			cancel()
		}
		return cause
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("want both the cause and the end of the context, got %v", err)
	}
}

func TestStartOfAMissingProgramIsAnError(t *testing.T) {
	t.Parallel()
	_, err := process.Start(process.Config{Name: "nothing", Path: "/does/not/exist", LogFile: filepath.Join(t.TempDir(), "log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want os.ErrNotExist, got %v", err)
	}
}

func TestFreePortsDifferAndAreFree(t *testing.T) {
	t.Parallel()
	ports, err := process.FreePorts(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d twice in %v", port, ports)
		}
		seen[port] = true
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		_ = listener.Close()
	}
	if len(ports) != 5 {
		t.Errorf("want 5 ports, got %v", ports)
	}
}
