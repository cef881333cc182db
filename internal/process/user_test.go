package process

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// publicDir makes a folder that everybody can reach; t.TempDir is closed to others.
func publicDir(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // t.TempDir lies in a folder that others cannot pass
	dir, err := os.MkdirTemp("", "process-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if user, err := Unprivileged(t.TempDir()); user != nil || err != nil {
			t.Fatalf("only root changes its user, got %v, %v", user, err)
		}
		return
	}
	dir := publicDir(t)
	if user, err := Unprivileged(dir); err != nil || user == nil || user.UID == 0 {
		t.Errorf("a folder that all can reach: want nobody, got %v, %v", user, err)
	}
	closed := filepath.Join(dir, "closed", "inner")
	if err := os.MkdirAll(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if user, err := Unprivileged(dir, closed); err != nil || user != nil {
		t.Errorf("a folder below a closed one: want nil, got %v, %v", user, err)
	}
	if _, err := Unprivileged(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: want os.ErrNotExist, got %v", err)
	}
}

func TestOwnLetsTheUserWrite(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can hand files to others")
	}
	dir := publicDir(t)
	user, err := Unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Name: "touch", Path: "/bin/sh", Args: []string{"-c", "touch " + dir + "/file"}, User: user}
	if err := Run(t.Context(), config); err == nil {
		t.Fatal("another user could write into the folder before it was handed over")
	}
	if err := user.Own(dir); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != user.UID {
		t.Errorf("the file belongs to %v, want %d", stat, user.UID)
	}
}

func TestOwnOfNobodyInParticularChangesNothing(t *testing.T) {
	t.Parallel()
	var asWeAre *User
	if err := asWeAre.Own("/does/not/exist"); err != nil {
		t.Error(err)
	}
}
