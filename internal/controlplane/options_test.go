package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/repository"
)

// assets makes a folder with shell scripts in place of the servers.
func assets(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMissingBinaryNamesTheRemedy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		present map[string]string
		manager bool
		want    string
	}{
		"nothing is there":                        {want: "etcd"},
		"kube-apiserver is missing":               {present: map[string]string{"etcd": ""}, want: "kube-apiserver"},
		"the controller manager is asked for":     {present: map[string]string{"etcd": "", "kube-apiserver": ""}, manager: true, want: "kube-controller-manager"},
		"the controller manager is not asked for": {present: map[string]string{"etcd": "", "kube-apiserver": ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := findPrograms(Options{AssetsDir: assets(t, tc.present), ControllerManager: tc.manager})
			var missing *MissingBinaryError
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &missing) || missing.Name != tc.want {
				t.Fatalf("want %s missing, got %v", tc.want, err)
			}
			if !strings.Contains(err.Error(), "make controlplane") {
				t.Errorf("no remedy in %q", err)
			}
		})
	}
}

func TestAssetsDirs(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	cases := map[string]struct {
		given, variable string
		outside         bool
		want            []string
	}{
		"bin of the repository is the default":    {want: []string{bin}},
		"the variable comes before it":            {variable: "/some/where", want: []string{"/some/where", bin}},
		"a given folder is the only one":          {given: "/given", variable: "/some/where", want: []string{"/given"}},
		"outside of the repository, the variable": {variable: "/some/where", outside: true, want: []string{"/some/where"}},
		"outside of the repository, nothing":      {outside: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBEBUILDER_ASSETS", tc.variable)
			if tc.outside {
				t.Chdir(t.TempDir())
			}
			got, err := assetsDirs(tc.given)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if (err != nil) != (tc.want == nil) {
				t.Errorf("error: %v", err)
			}
		})
	}
}

// A port can be taken between the search for a free one and its use, so a child that ends at once gets other chances.
func TestStartTriesAgainWhenAServerEndsAtOnce(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "ports")
	dir := assets(t, map[string]string{
		"etcd":           `for a; do case $a in --listen-client-urls=*) echo "$a" >>` + log + `;; esac; done; echo address already in use; exit 1`,
		"kube-apiserver": "exit 1",
	})
	_, err := Start(t.Context(), Options{AssetsDir: dir, Dir: t.TempDir()})
	var exit *process.ExitError
	if !errors.As(err, &exit) || exit.Name != "etcd" || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("want what etcd said, got %v", err)
	}
	tried, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(tried), "\n"); n != 3 {
		t.Errorf("want 3 attempts, got %d:\n%s", n, tried)
	}
}
