package archtest

import (
	"os/exec"
	"strings"
	"testing"
)

// kubernetesClients are the libraries that talk to an API server.
var kubernetesClients = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}

// dependencies lists what packages import, directly and through others, without the standard library.
func dependencies(t *testing.T, patterns ...string) []string {
	t.Helper()
	arguments := append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}, patterns...)
	cmd := exec.CommandContext(t.Context(), "go", arguments...)
	cmd.Dir = root(t)
	var problems strings.Builder
	cmd.Stderr = &problems
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, problems.String())
	}
	return strings.Fields(string(output))
}

// below says whether an import path is a package or lies in it.
func below(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

func belowAny(path string, parents []string) bool {
	for _, parent := range parents {
		if below(path, parent) {
			return true
		}
	}
	return false
}

// rule says what one of our packages may reach, directly or through others.
type rule struct {
	// ours are the packages of this module that it may import.
	ours []string
	// never are packages of others that it must not reach.
	never []string
}

// rules are the directions of import that docs/ARCHITECTURE.md explains.
func rules() map[string]rule {
	api, rest := module+"/api", module+"/pkg/rest"
	celrules, mapping := module+"/pkg/celrules", module+"/pkg/mapping"
	kubernetes := append([]string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiserver", "k8s.io/apiextensions-apiserver"}, kubernetesClients...)
	return map[string]rule{
		"api":           {never: append([]string{"github.com/google/cel-go"}, kubernetesClients...)},
		"pkg/rest":      {never: append([]string{"github.com/google/cel-go"}, kubernetes...)},
		"pkg/celrules":  {never: kubernetesClients},
		"pkg/mapping":   {ours: []string{api, rest, celrules}, never: kubernetesClients},
		"pkg/lifecycle": {ours: []string{api, rest}, never: append([]string{"github.com/google/cel-go"}, kubernetesClients...)},
		"pkg/httpapi":   {ours: []string{rest}, never: append([]string{"github.com/google/cel-go"}, kubernetes...)},
		"pkg/engine": {ours: []string{
			api, rest, celrules, mapping, module + "/pkg/lifecycle", module + "/pkg/httpapi",
		}},
	}
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	t.Parallel()
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, dependency := range dependencies(t, "./"+name+"/...") {
				if forbidden(name, rule, dependency) {
					t.Errorf("%s reaches %s; find the way with `go mod why` or `go list -deps`", name, dependency)
				}
			}
		})
	}
}

// forbidden says whether the package tree with this name must not reach a dependency.
func forbidden(name string, rule rule, dependency string) bool {
	if below(dependency, module) {
		return !below(dependency, module+"/"+name) && !belowAny(dependency, rule.ours)
	}
	return belowAny(dependency, rule.never)
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	rules := rules()
	cases := map[string]struct {
		name, dependency string
		want             bool
	}{
		"a neighbour that is not named":   {"pkg/httpapi", module + "/pkg/lifecycle", true},
		"a neighbour that is named":       {"pkg/httpapi", module + "/pkg/rest", false},
		"a folder of its own":             {"pkg/engine", module + "/pkg/engine/fleet", false},
		"the same beginning of a name":    {"pkg/httpapi", module + "/pkg/restore", true},
		"a forbidden library":             {"pkg/celrules", "k8s.io/client-go/dynamic", true},
		"a library with a similar name":   {"pkg/httpapi", "k8s.io/apiother", false},
		"a leaf imports nothing of ours":  {"pkg/celrules", module + "/api/v1alpha1", true},
		"the clock is no Kubernetes":      {"pkg/httpapi", "k8s.io/utils/clock", false},
		"test support in what is shipped": {"pkg/engine", module + "/internal/restfake", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := forbidden(tc.name, rules[tc.name], tc.dependency); got != tc.want {
				t.Errorf("%s -> %s: want %t", tc.name, tc.dependency, tc.want)
			}
		})
	}
}

// The operator is made of what is meant to be shipped; test support stays out of it.
func TestTheOperatorHoldsNoTestSupport(t *testing.T) {
	t.Parallel()
	shipped := []string{module + "/api", module + "/pkg", module + "/cmd"}
	for _, name := range []string{"admission", "console", "controller", "metrics", "operator", "tracing"} {
		shipped = append(shipped, module+"/internal/"+name)
	}
	for _, dependency := range dependencies(t, "./cmd/operator") {
		if below(dependency, module) && !belowAny(dependency, shipped) {
			t.Errorf("cmd/operator reaches %s", dependency)
		}
	}
}

// One package knows cel-go, so that changing its version, or its module path, is a change of one package.
func TestOnlyCelrulesImportsCEL(t *testing.T) {
	t.Parallel()
	for _, file := range allSources(t) {
		if strings.HasPrefix(file.path, "pkg/celrules/") || strings.HasPrefix(file.path, "internal/archtest/") {
			continue
		}
		for _, path := range []string{`"github.com/google/cel-go/`, `"cel.dev/`} {
			if strings.Contains(file.content, path) {
				t.Errorf("%s imports %s…\": only pkg/celrules may", file.path, path)
			}
		}
	}
}
