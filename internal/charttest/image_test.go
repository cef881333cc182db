package charttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// instructions reads the Dockerfile: the arguments of each instruction, by name, in the last stage alone or in all.
func instructions(t *testing.T, lastStage bool) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", " ")) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if name == "FROM" && lastStage {
			clear(found)
		}
		found[name] = append(found[name], strings.Join(strings.Fields(arguments), " "))
	}
	return found
}

// TestImageRunsAsTheChartSays: the pod names a user and arguments, and no command.
func TestImageRunsAsTheChartSays(t *testing.T) {
	t.Parallel()
	image := instructions(t, true)
	pod := only[appsv1.Deployment](t, Objects(t, nil), "Deployment").Spec.Template.Spec
	user := fmt.Sprintf("%d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup)
	if diff := cmp.Diff([]string{user}, image["USER"]); diff != "" {
		t.Errorf("user (-chart +image):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`["/operator"]`}, image["ENTRYPOINT"]); diff != "" || pod.Containers[0].Command != nil {
		t.Errorf("the chart sets the command %v, the image's differs by:\n%s", pod.Containers[0].Command, diff)
	}
	if diff := cmp.Diff([]string{"8080 8081"}, image["EXPOSE"]); diff != "" {
		t.Errorf("ports (-want +image):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"--from=build /out/operator /operator"}, image["COPY"]); diff != "" {
		t.Errorf("the image holds more than the program (-want +image):\n%s", diff)
	}
}

func TestImageIsBuiltStaticAndWithItsVersion(t *testing.T) {
	t.Parallel()
	steps := strings.Join(instructions(t, false)["RUN"], "\n")
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "-X main.version=$VERSION", "-X main.commit=$COMMIT", "-o /out/operator ./cmd/operator"} {
		if !strings.Contains(steps, want) {
			t.Errorf("the build lacks %q:\n%s", want, steps)
		}
	}
}

// TestBuilderGetsAllItNeeds: each folder that holds Go packages of ours, and each that those import, is copied into the
// builder, and .dockerignore lets the same through and nothing else.
func TestBuilderGetsAllItNeeds(t *testing.T) {
	t.Parallel()
	var copied []string
	for _, step := range instructions(t, false)["COPY"] {
		if sources := strings.Fields(step); !strings.HasPrefix(step, "--") {
			copied = append(copied, sources[:len(sources)-1]...)
		}
	}
	slices.Sort(copied)
	if diff := cmp.Diff(copied, passed(t)); diff != "" {
		t.Errorf("files (-Dockerfile +.dockerignore):\n%s", diff)
	}
	for _, folder := range folders(t) {
		if !slices.Contains(copied, folder) {
			t.Errorf("the program is built from %s, which the Dockerfile does not copy", folder)
		}
	}
}

// passed lists what .dockerignore lets through.
func passed(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(content))
	if !slices.Contains(lines, "*") {
		t.Error(".dockerignore must begin from nothing")
	}
	var names []string
	for _, line := range lines {
		if name, found := strings.CutPrefix(line, "!"); found {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// folders lists the top folders of our packages that programs are made of.
func folders(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./api/...", "./cmd/...", "./pkg/...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for dir := range strings.FieldsSeq(string(out)) {
		below, err := filepath.Rel(cmd.Dir, dir)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.Split(filepath.ToSlash(below), "/")[0])
	}
	if slices.Sort(names); len(names) == 0 {
		t.Fatal("go list found no package of ours")
	}
	return slices.Compact(names)
}

// TestProgramBringsWhatTheImageLacks: a base image may have neither authorities of public servers nor time zones.
func TestProgramBringsWhatTheImageLacks(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/operator")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"golang.org/x/crypto/x509roots/fallback", "time/tzdata"} {
		if !slices.Contains(strings.Fields(string(out)), want) {
			t.Errorf("the operator does not import %s", want)
		}
	}
}
