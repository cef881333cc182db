package repository_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/restmapping/operator/internal/repository"
)

func TestRoot(t *testing.T) {
	want, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The module of a tool is not the repository.
	for _, dir := range []string{".", "../..", "../../e2e/controlplane"} {
		t.Run(dir, func(t *testing.T) {
			t.Chdir(dir)
			if got, err := repository.Root(); got != want || err != nil {
				t.Errorf("want %s, got %s, %v", want, got, err)
			}
		})
	}
	t.Run("outside", func(t *testing.T) {
		t.Chdir(t.TempDir())
		if _, err := repository.Root(); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("want ErrNotFound, got %v", err)
		}
	})
}
