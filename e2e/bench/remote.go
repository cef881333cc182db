package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/restmapping/operator/internal/process"
)

// remote is the REST server as a child process.
type remote struct {
	child   *process.Process
	URL     string
	control string
}

// serverCommand is the argument with which this program is the REST server.
const serverCommand = "server"

func startRemote(ctx context.Context, dir string) (*remote, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return process.Retry(func() (*remote, error) {
		ports, err := process.FreePorts(ctx, 2)
		if err != nil {
			return nil, err
		}
		address, control := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
		r := &remote{URL: "http://" + address, control: "http://" + control}
		r.child, err = process.Start(process.Config{
			Name: "rest-server", Path: self, Args: []string{serverCommand, address, control}, LogFile: filepath.Join(dir, "rest-server.log"),
		})
		if err != nil {
			return nil, err
		}
		if err := r.child.WaitReady(ctx, func(ctx context.Context) error { _, err := r.state(ctx, 0); return err }); err != nil {
			r.stop()
			return nil, err
		}
		return r, nil
	})
}

func (r *remote) stop() { r.child.Stop(10 * time.Second) }

// state asks how things stand, and how many objects have this size.
func (r *remote) state(ctx context.Context, size int) (serverState, error) {
	var st serverState
	err := r.ask(ctx, http.MethodGet, fmt.Sprintf("/state?%s=%d", sizeField, size), &st)
	return st, err
}

func (r *remote) forget(ctx context.Context) error {
	return r.ask(ctx, http.MethodPost, "/forget", nil)
}

func (r *remote) drift(ctx context.Context, n int) error {
	return r.ask(ctx, http.MethodPost, fmt.Sprintf("/drift?n=%d", n), nil)
}

func (r *remote) ask(ctx context.Context, method, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.control+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the REST server's process: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the REST server's process: %s %s: %s", method, path, resp.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
