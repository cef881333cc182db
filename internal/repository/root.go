// Package repository finds the files of this repository, for tests and for programs that run from a checkout. It reads
// nothing but names, and the operator itself must not import it.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNotFound says that the current folder is not inside a checkout.
var ErrNotFound = errors.New("the current folder is not inside a checkout of the repository")

// Root is the next folder upwards that holds LICENSE beside go.mod: the modules of the tools below e2e/ have only the
// latter.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("look for the repository: %w", err)
	}
	for {
		_, modErr := os.Stat(filepath.Join(dir, "go.mod"))
		_, licenseErr := os.Stat(filepath.Join(dir, "LICENSE"))
		if modErr == nil && licenseErr == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNotFound
		}
		dir = parent
	}
}
