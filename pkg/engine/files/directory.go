package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/restmapping/operator/pkg/httpapi"
)

const (
	// interval is the time between two looks at the files in use.
	interval = 2 * time.Second
	// unused is how long a file is looked at after it was asked for last.
	unused = time.Hour
	// maxFiles and maxBytes bound what is looked at.
	maxFiles = 1024
	maxBytes = 1 << 20
)

// Directory reads files below one directory. It is safe for concurrent use.
type Directory struct {
	path  string
	clock clock.WithTicker

	mu        sync.Mutex
	known     map[string]*file
	listeners map[int]func(name string)
	nextID    int
}

// file is what was seen last of a file in use.
type file struct {
	value httpapi.Secret
	// version is that of the value, empty while there is none.
	version string
	err     error
	asked   time.Time
}

// Option changes what a directory does by default.
type Option func(*Directory)

// WithClock replaces the system's clock.
func WithClock(c clock.WithTicker) Option { return func(d *Directory) { d.clock = c } }

// New makes a directory. An empty path allows no file at all. Nothing is read before it is asked for.
func New(path string, options ...Option) *Directory {
	d := &Directory{path: path, clock: clock.RealClock{}, known: map[string]*file{}, listeners: map[int]func(string){}}
	for _, option := range options {
		option(d)
	}
	return d
}

// Start looks at the files in use until ctx ends. It is a manager.Runnable.
func (d *Directory) Start(ctx context.Context) error {
	ticker := d.clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			d.look(ctx)
		}
	}
}

// Get reads a file. One line break at its end is not part of the value: most programs that write files write one. Errors:
// *NotFoundError, *NotAllowedError, *UnreadableError.
func (d *Directory) Get(name string) (httpapi.Secret, error) {
	f, err := d.use(name)
	if err != nil {
		return httpapi.Secret{}, err
	}
	return f.value, f.err
}

// Version identifies what Get would give: it changes with the file. It is empty while the file cannot be read.
func (d *Directory) Version(name string) (string, error) {
	f, err := d.use(name)
	return f.version, err
}

// Subscribe tells listener of each file in use that changed, appeared or went. The listener must not block. The returned
// function ends the subscription.
func (d *Directory) Subscribe(listener func(name string)) (unsubscribe func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.nextID
	d.nextID++
	d.listeners[id] = listener
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listeners, id)
	}
}

// use gives what is known of a file, which is read now if it is not in use yet.
func (d *Directory) use(name string) (file, error) {
	if d.path == "" {
		return file{}, &NotAllowedError{Name: name}
	}
	d.mu.Lock()
	known, full := d.known[name], len(d.known) >= maxFiles
	if known != nil {
		known.asked = d.clock.Now()
		seen := *known
		d.mu.Unlock()
		return seen, nil
	}
	d.mu.Unlock()
	if full {
		return file{}, &UnreadableError{Name: name, Err: fmt.Errorf("more than %d files are in use", maxFiles)}
	}
	fresh := d.read(name)
	fresh.asked = d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[name] == nil {
		d.known[name] = &fresh
	}
	return fresh, nil
}

// look reads the files in use again and tells of those that changed.
func (d *Directory) look(ctx context.Context) {
	d.mu.Lock()
	maps.DeleteFunc(d.known, func(_ string, f *file) bool { return d.clock.Since(f.asked) > unused })
	names := slices.Sorted(maps.Keys(d.known))
	d.mu.Unlock()
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		if d.note(name, d.read(name)) {
			d.tell(name)
		}
	}
}

// note keeps what was read, and reports whether it is another than before.
func (d *Directory) note(name string, fresh file) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.known[name]
	if known == nil {
		return false
	}
	changed = known.version != fresh.version
	known.value, known.version, known.err = fresh.value, fresh.version, fresh.err
	return changed
}

func (d *Directory) tell(name string) {
	d.mu.Lock()
	listeners := slices.Collect(maps.Values(d.listeners))
	d.mu.Unlock()
	for _, listener := range listeners {
		listener(name)
	}
}

// read opens the directory anew each time: a mount may have been replaced. os.Root refuses a path that leads out of it.
func (d *Directory) read(name string) file {
	content, err := d.content(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file{err: &NotFoundError{Name: name, Directory: d.path}}
	case err != nil:
		return file{err: &UnreadableError{Name: name, Err: plain(err)}}
	}
	sum := sha256.Sum256(content)
	value := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	return file{value: httpapi.NewSecret(value), version: hex.EncodeToString(sum[:])}
}

func (d *Directory) content(name string) ([]byte, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	// Asked before it is opened: a pipe would keep the one who opens it.
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	opened, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()                          // nothing was written
	content, err := io.ReadAll(io.LimitReader(opened, maxBytes+1)) //nolint:forbidigo // bounded
	if err == nil && len(content) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return content, err
}

// plain leaves the path out of an error, which says it already.
func plain(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
