package charttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/chart"
)

func TestLint(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), Helm(t), "lint", "--strict", Dir(t), "--values", file).CombinedOutput()
			if err != nil {
				t.Errorf("helm lint: %v\n%s", err, out)
			}
		})
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	list := func(items ...any) []any { return items }
	cases := map[string]struct {
		values map[string]any
		want   string
	}{
		"an unknown value":                     {map[string]any{"replicaCount": 2}, "replicaCount"},
		"an unknown value in a group":          {map[string]any{"image": map[string]any{"name": "x"}}, "name"},
		"an unknown value in a deep group":     {map[string]any{"metrics": map[string]any{"service": map[string]any{"port": 1}}}, "port"},
		"an unknown field of a managed kind":   {map[string]any{"managedKinds": list(map[string]any{"group": "example.com", "resources": list("things"), "verbs": list("delete")})}, "verbs"},
		"a number as text":                     {map[string]any{"replicas": "two"}, "replicas"},
		"a wildcard as a managed resource":     {map[string]any{"managedKinds": list(map[string]any{"group": "example.com", "resources": list("*")})}, "pattern"},
		"a wildcard as a managed group":        {map[string]any{"managedKinds": list(map[string]any{"group": "*", "resources": list("things")})}, "pattern"},
		"the core group, where Secrets are":    {map[string]any{"managedKinds": list(map[string]any{"group": "", "resources": list("secrets")})}, "pattern"},
		"a managed kind without resources":     {map[string]any{"managedKinds": list(map[string]any{"group": "example.com", "resources": []any{}})}, "minItems"},
		"a subresource as a managed kind":      {map[string]any{"managedKinds": list(map[string]any{"group": "example.com", "resources": list("things/scale")})}, "pattern"},
		"a watched namespace that is no name":  {map[string]any{"watchNamespaces": list("Team_A")}, "watchNamespaces"},
		"a namespace that is watched twice":    {map[string]any{"watchNamespaces": list("a", "a")}, "watchNamespaces"},
		"an unknown log level":                 {map[string]any{"log": map[string]any{"level": "loud"}}, "level"},
		"an argument that is not a flag":       {map[string]any{"extraArgs": list("run")}, "extraArgs"},
		"a digest that is cut":                 {map[string]any{"image": map[string]any{"digest": "sha256:1234"}}, "digest"},
		"a label that grants rights":           {map[string]any{"commonLabels": map[string]any{"rbac.authorization.k8s.io/aggregate-to-edit": "true"}}, "aggregate-to-edit"},
		"a label of the chart's own":           {map[string]any{"commonLabels": map[string]any{"app.kubernetes.io/name": "other"}}, "app.kubernetes.io/name"},
		"no worker at all":                     {map[string]any{"concurrency": 0}, "concurrency"},
		"a lease that ends before its renewal": {map[string]any{"leaderElection": map[string]any{"leaseDurationSeconds": 10}}, "leaseDurationSeconds must be more"},
		"a renewal without time for a retry":   {map[string]any{"leaderElection": map[string]any{"retryPeriodSeconds": 9}}, "retryPeriodSeconds"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := chart.Render(t.Context(), Helm(t), Dir(t), Release, Namespace, tc.values)
			var refused *chart.RenderError
			if !errors.As(err, &refused) || !strings.Contains(strings.ToLower(refused.Output), strings.ToLower(tc.want)) {
				t.Errorf("got %v, want a refusal that names %q", err, tc.want)
			}
		})
	}
}

func TestChartCanBeADependency(t *testing.T) {
	t.Parallel()
	if _, err := chart.Render(t.Context(), Helm(t), Dir(t), Release, Namespace, map[string]any{"global": map[string]any{"a": 1}}); err != nil {
		t.Errorf("Helm gives a dependency the value global, and the schema refuses it: %v", err)
	}
}

// TestNotes renders the text that a person sees after "helm install".
func TestNotes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		want []string
	}{
		"with nothing set": {nil, []string{"all namespaces", "RestEndpoint", "kind: ClusterRole", "managedKinds", "kubectl get restmappings", "CRDs stay"}},
		"with namespaces and kinds": {
			[]string{"--set", "watchNamespaces={team-a}", "--set", "managedKinds[0].group=example.com,managedKinds[0].resources={things}"},
			[]string{"these namespaces: team-a", "example.com: things"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"install", Release, Dir(t), "--namespace", Namespace, "--dry-run=client"}, tc.args...)
			cmd := exec.CommandContext(t.Context(), Helm(t), args...)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			_, notes, found := strings.Cut(string(out), "\nNOTES:")
			if !found {
				t.Fatal("helm printed no notes")
			}
			for _, want := range tc.want {
				if !strings.Contains(notes, want) {
					t.Errorf("the notes do not say %q:\n%s", want, notes)
				}
			}
		})
	}
}

func TestMissingHelmNamesTheRemedy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	plain := filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(folder, "absent"), plain, folder} {
		if err := runnable(file); err == nil || !strings.Contains(err.Error(), "make controlplane") {
			t.Errorf("%s: got %v, want an error that names make controlplane", file, err)
		}
	}
	if err := runnable(Helm(t)); err != nil {
		t.Error(err)
	}
}
