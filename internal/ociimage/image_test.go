package ociimage

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "built")
	if err := os.WriteFile(file, []byte("machine code"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func spec(t *testing.T) Spec {
	t.Helper()
	return Spec{
		Program: program(t), Name: "operator", Arch: "arm64", Ports: []string{"8080/tcp"},
		Labels: map[string]string{"org.opencontainers.image.version": "1.2.3"},
	}
}

func build(t *testing.T) v1.Image {
	t.Helper()
	image, err := New(spec(t))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestTheProgramIsTheOnlyFile(t *testing.T) {
	t.Parallel()
	layers, err := build(t).Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	var names []string
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if text, err := io.ReadAll(archive); err != nil || string(text) != "machine code" || header.Mode != 0o555 {
			t.Errorf("%s holds %q with mode %o, %v", header.Name, text, header.Mode, err)
		}
	}
	if diff := cmp.Diff([]string{"operator"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestTheProgramRunsWithoutPrivileges(t *testing.T) {
	t.Parallel()
	config, err := build(t).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		Entrypoint: []string{"/operator"}, User: "65532:65532", WorkingDir: "/", ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels: map[string]string{"org.opencontainers.image.version": "1.2.3"},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("the platform is %s/%s", config.OS, config.Architecture)
	}
}

func TestTheSameProgramGivesTheSameDigest(t *testing.T) {
	t.Parallel()
	first, firstErr := build(t).Digest()
	second, secondErr := build(t).Digest()
	if err := errors.Join(firstErr, secondErr); err != nil || first != second {
		t.Errorf("%s and %s, %v", first, second, err)
	}
}

func TestArchiveCanBeRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "operator.tar")
	image := build(t)
	if err := WriteArchive(file, "registry.example.com/operator:1.2.3", image); err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, wantErr := image.ConfigName()
	got, gotErr := read.ConfigName()
	if err := errors.Join(wantErr, gotErr); err != nil || got != want {
		t.Errorf("read %s, wrote %s, %v", got, want, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	missing := spec(t)
	missing.Program = filepath.Join(t.TempDir(), "nothing")
	if _, err := New(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is missing: %v", err)
	}
	if err := WriteArchive(filepath.Join(t.TempDir(), "a.tar"), "no tag", build(t)); err == nil {
		t.Error("a reference that is none was taken")
	}
}
