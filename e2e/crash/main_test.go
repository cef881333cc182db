//go:build crash

package crash_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/repository"
)

// stage is what all tests share: a control plane with the kinds and mappings of all classes, and the program.
type stage struct {
	root, program string
	plane         *controlplane.ControlPlane
	client        dynamic.Interface
	ends          []func()
}

// later is done when all tests have ended.
func (s *stage) later(end func()) { s.ends = append(s.ends, end) }

// shared is a package variable because Go's tests have no other place for what all tests of a package share.
var shared *stage

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "restmapping-crash-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := &stage{program: filepath.Join(dir, "operator")}
	if err := s.build(ctx); err != nil {
		return failed(err)
	}
	if s.plane, err = controlplane.Start(ctx, controlplane.Options{}); err != nil {
		return failed(err)
	}
	defer func() { _ = s.plane.Stop() }()
	if err := s.install(ctx); err != nil {
		return failed(err)
	}
	shared = s
	defer func() {
		for _, end := range s.ends {
			end()
		}
	}()
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// build makes the program that is shipped, but for the places at which it can be made to end.
func (s *stage) build(ctx context.Context) error {
	var err error
	if s.root, err = repository.Root(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "failpoints", "-o", s.program, "./cmd/operator")
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return nil
}

func (s *stage) install(ctx context.Context) error {
	admin := s.plane.Admin()
	if err := installation.Prepare(ctx, admin, s.root, nil); err != nil {
		return err
	}
	rights := fmt.Sprintf(outputRights, installation.Release, installation.Namespace)
	if err := controlplane.ApplyYAML(ctx, admin, []byte(rights)); err != nil {
		return err
	}
	for _, c := range slices.Concat(promptClasses(), laterClasses(), replacedClasses(), steppedClasses(), partedClasses(), outputClasses()) {
		if err := controlplane.ApplyYAML(ctx, admin, []byte(c.manifest(installation.Release, installation.Namespace))); err != nil {
			return err
		}
	}
	var err error
	s.client, err = dynamic.NewForConfig(admin)
	return err
}
