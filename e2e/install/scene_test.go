//go:build install

package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/restmapping/operator/e2e/install/images"
	"github.com/restmapping/operator/e2e/install/report"
	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/node"
	"github.com/restmapping/operator/internal/repository"
)

// patience is how long waits last: pods start slowly on a busy machine.
const patience = 3 * time.Minute

// scene is a cluster with the images on its nodes and a REST server in it.
type scene struct {
	t          *testing.T
	root       string
	kubeconfig string
	// nodes is nil on a cluster that a person gave.
	nodes   *node.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	// server is the base URL of the REST server, for pods.
	server string
}

// newScene starts or finds the cluster. A cluster of our own serves all tests and ends with the last.
func newScene(t *testing.T) *scene {
	t.Helper()
	if givenKubeconfig == "" && unsupported != nil {
		t.Skip(unsupported)
	}
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, root: root, kubeconfig: givenKubeconfig}
	if s.kubeconfig == "" {
		s.startNodes()
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return s
}

// ours starts two nodes with our images, once for all tests. TestMain stops them.
var ours = sync.OnceValues(func() (*node.Cluster, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	archives := images.Archives(filepath.Join(root, ".cache", "images"))
	for _, archive := range archives {
		if _, err := os.Stat(archive); err != nil {
			return nil, fmt.Errorf("%w: run make e2e-images", err)
		}
	}
	cluster, err := node.Start(context.Background(), node.Options{Nodes: 2, Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	started = cluster
	for _, archive := range archives {
		if err := cluster.Import(context.Background(), archive); err != nil {
			return nil, err
		}
	}
	return cluster, nil
})

// started is the cluster that TestMain has to stop; nil when there is none.
var started *node.Cluster

func (s *scene) startNodes() {
	s.t.Helper()
	cluster, err := ours()
	if err != nil {
		s.t.Fatal(err)
	}
	s.nodes, s.kubeconfig = cluster, filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(s.kubeconfig, cluster.Admin()); err != nil {
		s.t.Fatal(err)
	}
}

// in gives the scene for a part of the test.
func (s *scene) in(t *testing.T) *scene {
	t.Helper()
	part := *s
	part.t = t
	return &part
}

// run runs a program of bin/ and gives what it prints.
func (s *scene) run(input, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.root, "bin", name), append(args, "--kubeconfig", s.kubeconfig)...)
	cmd.Dir, cmd.Stdin = s.root, strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// kubectl runs kubectl; a failure ends the test.
func (s *scene) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.run("", "kubectl", args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply applies YAML.
func (s *scene) apply(text string) {
	s.t.Helper()
	if out, err := s.run(text, "kubectl", "apply", "-f", "-"); err != nil {
		s.t.Fatalf("kubectl apply: %v\n%s\n%s", err, out, text)
	}
}

// helm runs helm for a release in its namespace.
func (s *scene) helm(r release, verb string, args ...string) {
	s.t.Helper()
	if verb != "uninstall" {
		args = append([]string{filepath.FromSlash(chart.Dir), "--values", "-"}, args...)
	}
	out, err := s.run(r.values, "helm", append([]string{verb, r.name, "--namespace", r.namespace}, args...)...)
	if err != nil {
		s.t.Fatalf("helm %s %s: %v\n%s", verb, r.name, err, out)
	}
}

// eventually polls until check gives "".
func (s *scene) eventually(what string, check func() string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for {
		problem := check()
		if problem == "" {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s: not within %s: %s", what, patience, problem)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// report asks the REST server, through the API server, what it was asked.
func (s *scene) report() report.Report {
	s.t.Helper()
	path := "/api/v1/namespaces/rest/services/http:restserver:8080/proxy/_report"
	text, err := s.client.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(s.t.Context())
	if err != nil {
		s.t.Fatalf("ask the REST server: %v: %s", err, text)
	}
	var found report.Report
	if err := json.Unmarshal(text, &found); err != nil {
		s.t.Fatal(err)
	}
	return found
}
