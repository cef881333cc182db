package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/internal/golden"
)

// TestRenderedChart compares the manifest of each testdata/*.values.yaml with the golden file beside it.
func TestRenderedChart(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("value sets: got %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".values.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			golden.Check(t, name+".golden.yaml", Render(t, valuesOf(t, file)))
		})
	}
}

// TestEveryGoldenHasValues finds golden files that no test reads any more.
func TestEveryGoldenHasValues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		values := strings.TrimSuffix(file, ".golden.yaml") + ".values.yaml"
		if _, err := os.Stat(values); err != nil {
			t.Errorf("%s has no values: remove it", file)
		}
	}
}

func valuesOf(t *testing.T, file string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(content, &values); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return values
}
