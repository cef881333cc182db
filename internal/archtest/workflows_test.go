package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/repository"
)

// pinned is an action by the hash of its commit, with the version for people.
var pinned = regexp.MustCompile(`^\s*-?\s*uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestActionsArePinned: a tag of somebody else's repository can be moved to any code, which then runs with our rights.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimRight(line, "\n"); strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s: not pinned by hash and version: %s", filepath.Base(file), strings.TrimSpace(line))
			}
		}
	}
}
