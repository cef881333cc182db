package servers

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/restmapping/operator/internal/process"
)

// startLimit bounds one attempt to start a server, also on a busy machine.
const startLimit = 3 * time.Minute

// Options says where a server keeps its data. The zero value is a temporary folder.
type Options struct {
	// Dir is a new folder for data and logs, which stays after Stop. Empty means a temporary one, which Stop removes.
	Dir string
	// BinDir holds the programs that the Makefile builds. Empty means bin/ of this repository.
	BinDir string
	// Log receives a line per step. Nil means none.
	Log io.Writer
}

// folder is the place of one server.
type folder struct {
	path      string
	temporary bool
}

// newFolder makes the folder that the options ask for.
func newFolder(options Options, name string) (folder, error) {
	if options.Dir == "" {
		path, err := os.MkdirTemp("", "restmapping-"+name+"-")
		if err != nil {
			return folder{}, fmt.Errorf("folder of %s: %w", name, err)
		}
		return folder{path: path, temporary: true}, nil
	}
	path, err := filepath.Abs(options.Dir)
	if err != nil {
		return folder{}, fmt.Errorf("folder of %s: %w", name, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return folder{}, fmt.Errorf("folder of %s: %w", name, err)
	}
	return folder{path: path}, nil
}

// remove removes a temporary folder.
func (f folder) remove() error {
	if !f.temporary {
		return nil
	}
	return os.RemoveAll(f.path)
}

// sub makes a folder inside.
func (f folder) sub(name string) (string, error) {
	path := filepath.Join(f.path, name)
	return path, os.MkdirAll(path, 0o700)
}

// write writes a file inside.
func (f folder) write(name, content string) error {
	path := filepath.Join(f.path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

// logReady writes a progress line.
func logReady(options Options, name, url string, began time.Time) error {
	if options.Log == nil {
		return nil
	}
	_, err := fmt.Fprintf(options.Log, "%s is ready at %s after %.1f s\n", name, url, time.Since(began).Seconds())
	return err
}

// random returns a password that nobody can guess.
func random() string { return rand.Text() }

// call sends one request with basic authentication and returns the answer's body, cut at a megabyte.
func call(ctx context.Context, method, url, user, password, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(user, password)
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %s: %.300s", method, url, response.Status, answer)
	}
	return answer, nil
}

// environment is what a server sees of ours: where to find programs, and nothing else.
func environment(home string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}, more...)
}

// stopAll ends processes in the opposite order of their start.
func stopAll(started []*process.Process) {
	const grace = 15 * time.Second
	for _, p := range slices.Backward(started) {
		p.Stop(grace)
	}
}
