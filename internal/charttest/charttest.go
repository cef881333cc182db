package charttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/repository"
)

// How the chart is rendered for tests. The ServiceAccount has the release's name.
const (
	Release   = "restmapping-operator"
	Namespace = "restmapping-system"
)

// Render returns the chart's whole manifest with the values.
func Render(tb testing.TB, values map[string]any) []byte {
	tb.Helper()
	manifest, err := chart.Render(tb.Context(), Helm(tb), Dir(tb), Release, Namespace, values)
	if err != nil {
		tb.Fatal(err)
	}
	return manifest
}

// Objects returns the chart's objects with the values.
func Objects(tb testing.TB, values map[string]any) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := chart.Decode(Render(tb, values))
	if err != nil {
		tb.Fatal(err)
	}
	return objects
}

// Setup returns what an operator that runs outside of the cluster needs in it: the release's namespace, the CRDs, the
// ServiceAccount and its rights.
func Setup(tb testing.TB, values map[string]any) []byte {
	tb.Helper()
	rendered := Objects(tb, values)
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Namespace},
	}}
	objects := append([]*unstructured.Unstructured{namespace}, chart.Definitions(rendered)...)
	manifest, err := chart.Encode(append(objects, chart.Identity(rendered)...))
	if err != nil {
		tb.Fatal(err)
	}
	return manifest
}

// Dir is the chart's folder.
func Dir(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(root(tb), filepath.FromSlash(chart.Dir))
}

// Helm is the helm program of this repository. A test that needs it and does not find it fails: a chart that was not
// tested must not look as if it were.
func Helm(tb testing.TB) string {
	tb.Helper()
	file := filepath.Join(root(tb), "bin", "helm")
	if err := runnable(file); err != nil {
		tb.Fatal(err)
	}
	return file
}

func runnable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing: run make controlplane", file)
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program: run make controlplane", file)
	}
	return nil
}

// root is the repository's folder.
func root(tb testing.TB) string {
	tb.Helper()
	folder, err := repository.Root()
	if err != nil {
		tb.Fatal(err)
	}
	return folder
}
