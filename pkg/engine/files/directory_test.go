package files_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/engine/files"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, d *files.Directory, name string) string {
	t.Helper()
	value, err := d.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return value.Reveal()
}

func TestAFileIsReadWithoutItsLastLineBreak(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for name, content := range map[string]string{"plain": "s3cret", "unix": "s3cret\n", "dos": "s3cret\r\n", "deep/er": "s3cret"} {
		write(t, filepath.Join(base, name), content)
		if got := get(t, files.New(base), name); got != "s3cret" {
			t.Errorf("%s: %q", name, got)
		}
	}
	write(t, filepath.Join(base, "lines"), "a\n\n")
	if got := get(t, files.New(base), "lines"); got != "a\n" {
		t.Errorf("more than one line break was cut: %q", got)
	}
}

// What Kubernetes mounts is links to links, all within the mount.
func TestAMountedSecretIsRead(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, filepath.Join(base, "..2026_01", "token"), "one")
	link(t, "..2026_01", filepath.Join(base, "..data"))
	link(t, filepath.Join("..data", "token"), filepath.Join(base, "token"))
	if got := get(t, files.New(base), "token"); got != "one" {
		t.Errorf("got %q", got)
	}
}

func TestNothingElseIsRead(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	inside, outside := filepath.Join(base, "in"), filepath.Join(base, "out", "secret")
	write(t, outside, "canary-value")
	write(t, filepath.Join(inside, "large"), strings.Repeat("x", 1<<20+1))
	write(t, filepath.Join(inside, "folder", "x"), "")
	link(t, outside, filepath.Join(inside, "absolute-link"))
	link(t, filepath.Join("..", "out", "secret"), filepath.Join(inside, "relative-link"))
	link(t, filepath.Join("..", "out"), filepath.Join(inside, "link-to-folder"))
	if err := syscall.Mkfifo(filepath.Join(inside, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var (
		notFound   *files.NotFoundError
		notAllowed *files.NotAllowedError
		unreadable *files.UnreadableError
	)
	cases := map[string]struct {
		directory, name string
		is              any
	}{
		"what is not there":            {inside, "none", &notFound},
		"without a directory":          {"", "folder/x", &notAllowed},
		"a directory that is gone":     {filepath.Join(base, "gone"), "x", &notFound},
		"a path with dots":             {inside, "../out/secret", &unreadable},
		"a path with dots in hiding":   {inside, "folder/../../out/secret", &unreadable},
		"an absolute path":             {inside, outside, &unreadable},
		"a link that leads out":        {inside, "absolute-link", &unreadable},
		"a relative one":               {inside, "relative-link", &unreadable},
		"through a folder outside":     {inside, "link-to-folder/secret", &unreadable},
		"a folder":                     {inside, "folder", &unreadable},
		"a pipe, which would keep one": {inside, "pipe", &unreadable},
		"too large":                    {inside, "large", &unreadable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, err := files.New(tc.directory).Get(tc.name)
			if err == nil || !errors.As(err, tc.is) {
				t.Fatalf("got %T %v", err, err)
			}
			if !value.Empty() || strings.Contains(err.Error(), "canary-value") {
				t.Errorf("something was read: %v", err)
			}
		})
	}
}

func TestAChangeIsSeenAndTold(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, filepath.Join(base, "token"), "one")
	synctest.Test(t, func(t *testing.T) {
		d := files.New(base)
		var mu sync.Mutex
		var told []string
		d.Subscribe(func(name string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, name)
		})
		heard := func() []string {
			time.Sleep(3 * time.Second)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			got := told
			told = nil
			return got
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Start(ctx) }()
		if got := get(t, d, "token"); got != "one" {
			t.Fatalf("got %q", got)
		}
		first, err := d.Version("token")
		if err != nil || first == "" {
			t.Fatalf("version %q, %v", first, err)
		}
		if got := heard(); got != nil {
			t.Errorf("told of %v although nothing changed", got)
		}
		// Of the same length, at what may be the same time.
		write(t, filepath.Join(base, "token"), "two")
		if diff := cmp.Diff([]string{"token"}, heard()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if got := get(t, d, "token"); got != "two" {
			t.Errorf("got %q", got)
		}
		if version, err := d.Version("token"); err != nil || version == first {
			t.Errorf("version %q, %v", version, err)
		}
		if err := os.Remove(filepath.Join(base, "token")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"token"}, heard()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if _, err := d.Get("token"); !errors.As(err, new(*files.NotFoundError)) {
			t.Errorf("got %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
