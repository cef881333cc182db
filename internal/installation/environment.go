package installation

import (
	"os"
	"slices"
)

// environment is the parent's with more; nil, which means the parent's, when there is nothing more.
func environment(more []string) []string {
	if len(more) == 0 {
		return nil
	}
	return slices.Concat(os.Environ(), more)
}
