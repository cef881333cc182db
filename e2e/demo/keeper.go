package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/servers"
)

// keep runs the servers until it is told to stop.
func keep(ctx context.Context, p places) error {
	s := state{Keeper: os.Getpid()}
	err := serve(ctx, p, &s)
	if err != nil {
		s.Problem, s.Ready = err.Error(), false
		return errors.Join(err, writeState(p, s))
	}
	return os.Remove(p.state())
}

func serve(ctx context.Context, p places, s *state) error {
	if err := writeState(p, *s); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: p.file("controlplane"), ControllerManager: true, Log: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { _ = plane.Stop() }() // the process ends anyway, and its children with it
	if err := controlplane.WriteKubeconfig(p.kubeconfig(), plane.Admin()); err != nil {
		return err
	}
	gitea, err := servers.StartGitea(ctx, servers.Options{Dir: p.file("gitea"), Log: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { _ = gitea.Stop() }() // as above
	fmt.Println("operator: installing its CRDs and rights as the chart does")
	if err := installation.Prepare(ctx, plane.Admin(), p.root, nil); err != nil {
		return err
	}
	fmt.Println("operator: starting with the chart's ServiceAccount")
	operator, err := installation.Start(ctx, plane, installation.Options{Root: p.root, Dir: p.dir, Args: []string{"--min-sync-interval=5s", installation.AllowLoopback}})
	if err != nil {
		return err
	}
	defer operator.Stop()
	s.Ready, s.APIURL, s.WebURL, s.User, s.Password, s.Token, s.Log = true, gitea.BaseURL, gitea.WebURL, gitea.User, gitea.Password, gitea.Token, operator.LogFile
	if err := writeState(p, *s); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// startKeeper starts the keeper in a session of its own and waits until everything runs, showing its progress.
func startKeeper(ctx context.Context, p places) (*state, error) {
	if err := os.RemoveAll(p.dir); err != nil {
		return nil, fmt.Errorf("clear %s: %w", p.dir, err)
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", p.dir, err)
	}
	log, err := os.Create(p.keeperLog())
	if err != nil {
		return nil, fmt.Errorf("make the keeper's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own handle
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// The program of "go run" goes when it ends, so the keeper runs from a copy.
	program, err := copyProgram(self, p.file("keeper"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "keep") //nolint:noctx // it is to outlive this process
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.root, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return awaitKeeper(ctx, p, ended)
}

const keeperTimeout = 5 * time.Minute

// awaitKeeper repeats the keeper's log until it is ready or has given up.
func awaitKeeper(ctx context.Context, p places, ended <-chan error) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, keeperTimeout)
	defer cancel()
	shown := 0
	for {
		if text, err := os.ReadFile(p.keeperLog()); err == nil && len(text) > shown {
			fmt.Print(indent(string(text[shown:])))
			shown = len(text)
		}
		s, err := readState(p)
		switch {
		case err != nil:
			return nil, err
		case s != nil && s.Problem != "":
			return nil, fmt.Errorf("the servers did not start: %s (see %s)", s.Problem, p.keeperLog())
		case s != nil && s.Ready:
			return s, nil
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the keeper ended early: %w (see %s)", errors.Join(err, fs.ErrClosed), p.keeperLog())
		case <-ctx.Done():
			return nil, fmt.Errorf("the servers did not start in time: %w (see %s)", ctx.Err(), p.keeperLog())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func copyProgram(from, to string) (string, error) {
	content, err := os.ReadFile(from)
	if err != nil {
		return "", fmt.Errorf("copy the demo's program: %w", err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		return "", fmt.Errorf("copy the demo's program: %w", err)
	}
	return filepath.Abs(to)
}

const downTimeout = 2 * time.Minute

// down ends the keeper and waits until it is gone.
func down(ctx context.Context, p places) error {
	s, err := readState(p)
	if err != nil {
		return err
	}
	if s == nil || !alive(s.Keeper) {
		fmt.Println("No demo is running.")
		return os.RemoveAll(p.dir)
	}
	fmt.Println("Ending the operator, Gitea and the control plane ...")
	if err := syscall.Kill(s.Keeper, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the keeper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	for alive(s.Keeper) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the keeper, process %d, did not end: %w", s.Keeper, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	fmt.Println("Ended.")
	return os.RemoveAll(p.dir)
}

// alive tells whether a keeper runs under this number: another program may have got it since.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err != nil || string(name) == "keeper\n"
}
