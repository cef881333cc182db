package suite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/repository"
)

// Suite is an installed operator.
type Suite struct {
	TB testing.TB
	// Root is the repository's folder.
	Root     string
	Plane    *controlplane.ControlPlane
	Operator *installation.Operator
	Client   dynamic.Interface

	kubeconfig string
	args       []string
}

// New installs the operator on a control plane of its own and starts it; endpoints may reach loopback unless the
// arguments say what they may reach. Everything ends with the test.
func New(tb testing.TB, args ...string) *Suite {
	tb.Helper()
	return NewInstalled(tb, "", nil, args...)
}

// NewInstalled is New with values of the chart. before is YAML that stands in the cluster before the chart does.
func NewInstalled(tb testing.TB, before string, values map[string]any, args ...string) *Suite {
	tb.Helper()
	root, err := repository.Root()
	if err != nil {
		tb.Fatal(err)
	}
	plane, err := controlplane.Start(tb.Context(), controlplane.Options{ControllerManager: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			tb.Error(err)
		}
	})
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--allow-cidrs") }) {
		args = append(args, installation.AllowLoopback)
	}
	s := &Suite{TB: tb, Root: root, Plane: plane, kubeconfig: filepath.Join(tb.TempDir(), "kubeconfig"), args: args}
	if err := controlplane.WriteKubeconfig(s.kubeconfig, plane.Admin()); err != nil {
		tb.Fatal(err)
	}
	if s.Client, err = dynamic.NewForConfig(plane.Admin()); err != nil {
		tb.Fatal(err)
	}
	if before != "" {
		if err := controlplane.ApplyYAML(tb.Context(), plane.Admin(), []byte(before)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := installation.Prepare(tb.Context(), plane.Admin(), root, values); err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(s.finish)
	return s
}

// Start starts the operator.
func (s *Suite) Start() {
	s.TB.Helper()
	ctx := context.WithoutCancel(s.TB.Context())
	operator, err := installation.Start(ctx, s.Plane, installation.Options{
		Root: s.Root, Dir: s.TB.TempDir(), Args: append([]string{"--min-sync-interval=2s"}, s.args...),
	})
	if err != nil {
		s.TB.Fatal(err)
	}
	s.Operator = operator
}

func (s *Suite) finish() {
	s.Operator.Stop()
	if !s.TB.Failed() {
		return
	}
	if text, err := os.ReadFile(s.Operator.LogFile); err == nil {
		s.TB.Logf("the operator's log:\n%s", last(text, 16<<10))
	}
}

func last(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// Patience is how long waits last: long enough for a busy machine.
const Patience = 90 * time.Second

// Kubectl runs kubectl as the administrator and gives what it prints; a failure ends the test.
func (s *Suite) Kubectl(args ...string) string {
	s.TB.Helper()
	out, err := s.try(args, nil)
	if err != nil {
		s.TB.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Apply applies YAML with kubectl.
func (s *Suite) Apply(format string, values ...any) {
	s.TB.Helper()
	text := fmt.Sprintf(format, values...)
	if out, err := s.try([]string{"apply", "-f", "-"}, []byte(text)); err != nil {
		s.TB.Fatalf("kubectl apply: %v\n%s\n%s", err, out, text)
	}
}

func (s *Suite) try(args []string, input []byte) (string, error) {
	ctx, cancel := context.WithTimeout(s.TB.Context(), 2*Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.Root, "bin", "kubectl"), append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	cmd.Dir, cmd.Stdin = s.Root, bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Ready waits with kubectl until a resource such as organization/team-a is ready.
func (s *Suite) Ready(resource string) {
	s.TB.Helper()
	out, err := s.try([]string{"wait", "--for=condition=Ready", resource, "--timeout=" + Patience.String()}, nil)
	if err != nil {
		state, _ := s.try([]string{"get", resource, "-o", "yaml"}, nil)
		s.TB.Fatalf("%s is not ready: %v\n%s\n%s", resource, err, out, state)
	}
}

// Check holds the status of every custom resource of a kind in the default namespace against the rules of all statuses.
func (s *Suite) Check(gvr schema.GroupVersionResource) []unstructured.Unstructured {
	s.TB.Helper()
	list, err := s.Client.Resource(gvr).Namespace("default").List(s.TB.Context(), metav1.ListOptions{})
	if err != nil {
		s.TB.Fatal(err)
	}
	for i := range list.Items {
		if problems := lab.Problems(&list.Items[i]); len(problems) > 0 {
			s.TB.Errorf("status of %s %s: %s", gvr.Resource, list.Items[i].GetName(), strings.Join(problems, "; "))
		}
	}
	return list.Items
}

// Eventually polls until check gives "".
func (s *Suite) Eventually(what string, check func() string) {
	s.TB.Helper()
	deadline := time.Now().Add(Patience)
	for {
		problem := check()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			s.TB.Fatalf("%s: not within %s: %s", what, Patience, problem)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
