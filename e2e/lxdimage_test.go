//go:build e2e

package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// importImage gives LXD an image that holds one small program, so that an instance can run, and returns its fingerprint.
// Real images cannot be had without a network.
func (s *lxdScene) importImage(t *testing.T, project string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "init")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./e2e/testdata/init")
	build.Dir, build.Env = s.Root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the image's program: %v\n%s", err, out)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	s.api.Upload("/1.0/images?project="+project, string(imageOf(t, binary)))
	fingerprint := ""
	s.Eventually("the image", func() string {
		images, _ := s.api.Object("/1.0/images?project=" + project)["metadata"].([]any)
		if len(images) != 1 {
			return "it is not there"
		}
		path, _ := images[0].(string)
		fingerprint, _, _ = strings.Cut(strings.TrimPrefix(path, "/1.0/images/"), "?")
		return ""
	})
	return fingerprint
}

// imageOf packs a program as LXD wants an image.
func imageOf(t *testing.T, program []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	add := func(name string, kind byte, mode fs.FileMode, content []byte) {
		header := &tar.Header{Name: name, Typeflag: kind, Mode: int64(mode), Size: int64(len(content))}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	architecture := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	add("metadata.yaml", tar.TypeReg, 0o644, []byte("architecture: "+architecture+"\ncreation_date: 1700000000\n"))
	for _, folder := range []string{"rootfs", "rootfs/sbin", "rootfs/dev", "rootfs/proc", "rootfs/sys", "rootfs/etc", "rootfs/tmp", "rootfs/run", "rootfs/var"} {
		add(folder+"/", tar.TypeDir, 0o755, nil)
	}
	add("rootfs/sbin/init", tar.TypeReg, 0o755, program)
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
