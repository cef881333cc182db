package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Config says what to run.
type Config struct {
	// Name stands in errors, for example "etcd".
	Name string
	// Path is the program, Args its arguments without the program's name.
	Path string
	Args []string
	// Env is the whole environment of the child. Nil means that of the parent.
	Env []string
	// WorkDir is where the child runs. Empty means the parent's folder.
	WorkDir string
	// LogFile receives what the child prints; it is appended to.
	LogFile string
	// User is who the child runs as. Nil means the parent's own user.
	User *User
}

// User is an operating-system user by number.
type User struct{ UID, GID uint32 }

// Process is a started child. Its owner must call Stop.
type Process struct {
	config Config
	pid    int
	done   chan struct{}
	err    error // how it ended; written before done is closed
}

// ExitError says that a child ended when it should still be running.
type ExitError struct {
	Name, LogFile string
	// Tail is the end of what it printed.
	Tail string
	Err  error
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s ended unexpectedly (%v); the whole log is in %s; its last lines:\n%s", e.Name, e.Err, e.LogFile, e.Tail)
}

func (e *ExitError) Unwrap() error { return e.Err }

// Start starts the child and returns at once.
func Start(config Config) (*Process, error) {
	log, err := os.OpenFile(config.LogFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log file of %s: %w", config.Name, err)
	}
	p := &Process{config: config, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", config.Name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one operating-system thread. The kernel's "kill the child when its parent
// dies" looks at the thread that started the child, so this thread has to live as long as the child does.
func (p *Process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { _ = log.Close() }()
	//nolint:noctx // a server is ended by Stop, in two steps, and not by a context
	cmd := exec.Command(p.config.Path, p.config.Args...)
	cmd.Env, cmd.Dir = p.config.Env, p.config.WorkDir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(p.config.User)
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	p.err = cmd.Wait()
	close(p.done)
}

// PID is the child's process id.
func (p *Process) PID() int { return p.pid }

// Done is closed when the child has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// exited is the error for a child that ended by itself.
func (p *Process) exited() error {
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return &ExitError{Name: p.config.Name, LogFile: p.config.LogFile, Tail: tail(p.config.LogFile), Err: err}
}

// WaitReady calls check until it succeeds. It gives up when the child ends or the context does.
func (p *Process) WaitReady(ctx context.Context, check func(context.Context) error) error {
	const pause = 50 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.exited()
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready (%w): %w; its log is in %s", p.config.Name, ctx.Err(), err, p.config.LogFile)
		case <-ticker.C:
		}
	}
}

// Stop asks the child and its whole process group to end, kills what is left after the grace period, and returns when
// the child was waited for. A second call returns at once.
func (p *Process) Stop(grace time.Duration) {
	select {
	case <-p.done:
	default:
		signalGroup(p.pid, syscall.SIGTERM)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	// The group may hold grandchildren also when the child itself has ended in time.
	signalGroup(p.pid, syscall.SIGKILL)
	<-p.done
}
