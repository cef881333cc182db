package golden

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update is a flag of the test binary; flags are package variables by their nature.
var update = flag.Bool("update", false, "rewrite the golden files with what the tests make now")

// Updating says whether the test runs with -update.
func Updating() bool { return *update }

// Check fails the test when got is not what the file holds. With -update it writes the file instead.
func Check(tb testing.TB, file string, got []byte) {
	tb.Helper()
	if err := check(file, got, Updating()); err != nil {
		tb.Fatal(err)
	}
}

func check(file string, got []byte, write bool) error {
	if write {
		return save(file, got)
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("golden file %s does not exist: run the test with -update and review the new file", file)
	}
	if err != nil {
		return fmt.Errorf("golden file: %w", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		return fmt.Errorf("%s differs (-file +now); if now is right, run the test with -update:\n%s", file, diff)
	}
	return nil
}

func save(file string, got []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("folder of golden file %s: %w", file, err)
	}
	if err := os.WriteFile(file, got, 0o644); err != nil {
		return fmt.Errorf("golden file: %w", err)
	}
	return nil
}
