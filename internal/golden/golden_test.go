package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		file string // content before; "" means that there is no file
		got  string
		want string // part of the error; "" means none
	}{
		"equal content passes":                           {"a: 1\n", "a: 1\n", ""},
		"different content fails and names the remedy":   {"a: 1\n", "a: 2\n", "-update"},
		"a missing last newline is a difference":         {"a: 1\n", "a: 1", "differs"},
		"a missing file fails, and is not made silently": {"", "a: 1\n", "does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x.golden")
			if tc.file != "" {
				write(t, file, tc.file)
			}
			err := check(file, []byte(tc.got), false)
			if (err == nil) != (tc.want == "") {
				t.Fatalf("check: got %v, want an error with %q", err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("check: got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestCheckWithUpdateWritesTheFileAndItsFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "x.golden")
	for _, content := range []string{"first", "second"} {
		if err := check(file, []byte(content), true); err != nil {
			t.Fatal(err)
		}
		if err := check(file, []byte(content), false); err != nil {
			t.Errorf("after the update: %v", err)
		}
	}
}

func TestCheckReportsAFileThatCannotBeReadOrWritten(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := check(folder, nil, false); err == nil {
		t.Error("reading a folder as a file: got no error")
	}
	if err := check(folder, nil, true); err == nil {
		t.Error("writing a folder as a file: got no error")
	}
	file := filepath.Join(folder, "file")
	write(t, file, "x")
	if err := check(filepath.Join(file, "x.golden"), nil, true); err == nil {
		t.Error("a file where the folder should be: got no error")
	}
}

// recorder stands in for a test that Check is expected to fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()      {}
func (r *recorder) Fatal(...any) { r.failed = true }

func TestCheckFailsTheTest(t *testing.T) {
	t.Parallel()
	if Updating() {
		t.Skip("with -update nothing can differ")
	}
	file := filepath.Join(t.TempDir(), "x.golden")
	write(t, file, "old")
	r := &recorder{TB: t}
	Check(r, file, []byte("new"))
	if !r.failed {
		t.Error("Check let a difference pass")
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
