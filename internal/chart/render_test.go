package chart

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a small shell program that stands in for helm. The tests that use it are not parallel: a file that is
// still open for writing in the fork of another test cannot be run.
func program(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "helm")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRenderGivesHelmTheReleaseAndTheValues(t *testing.T) {
	helm := program(t, `echo "# $*"; cat`)
	got, err := Render(t.Context(), helm, "the/chart", "name", "space", map[string]any{"replicas": 3})
	if err != nil {
		t.Fatal(err)
	}
	want := "# template name the/chart --namespace space --values -\nreplicas: 3\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRenderErrorCarriesWhatHelmSaid(t *testing.T) {
	helm := program(t, `echo half a manifest; echo "values don't meet the schema" >&2; exit 3`)
	got, err := Render(t.Context(), helm, "the/chart", "name", "space", nil)
	var refused *RenderError
	if !errors.As(err, &refused) || refused.Output != "values don't meet the schema" {
		t.Fatalf("got error %v, want a RenderError with helm's words", err)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the process's error is lost: %v", err)
	}
	if !strings.Contains(err.Error(), "the/chart") {
		t.Errorf("the error does not name the chart: %v", err)
	}
	if got != nil {
		t.Errorf("half a manifest was returned: %q", got)
	}
}

func TestRenderRefusesValuesThatAreNotYAML(t *testing.T) {
	_, err := Render(t.Context(), program(t, "true"), "the/chart", "name", "space", map[string]any{"f": func() {}})
	if err == nil || !strings.Contains(err.Error(), "values") {
		t.Errorf("got error %v, want one that names the values", err)
	}
}

func TestRenderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Render(ctx, program(t, "exec sleep 60"), "the/chart", "name", "space", nil); err == nil {
		t.Error("a cancelled context rendered")
	}
}

func TestBoundedRefusesMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	b := &bounded{limit: 4}
	if _, err := b.Write([]byte("1234")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("5")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v, want io.ErrShortWrite", err)
	}
	if b.String() != "1234" {
		t.Errorf("got %q, want what was within the limit", b.String())
	}
}
