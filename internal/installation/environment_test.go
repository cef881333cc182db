package installation

import (
	"os"
	"slices"
	"testing"
)

func TestTheOperatorsEnvironmentIsTheParentsWithMore(t *testing.T) {
	t.Parallel()
	if got := environment(nil); got != nil {
		t.Errorf("with nothing more it is %d variables, want the parent's", len(got))
	}
	got := environment([]string{"A=1", "B=2"})
	if want := append(os.Environ(), "A=1", "B=2"); !slices.Equal(got, want) {
		t.Errorf("it has %d variables, want %d", len(got), len(want))
	}
}
