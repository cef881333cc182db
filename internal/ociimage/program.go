package ociimage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles one main package of this repository as a static program for a platform of Linux.
type Build struct {
	// Root is the repository's folder, Package a main package in it, such as ./cmd/operator.
	Root, Package string
	// Arch is the processor in Go's words; empty means this machine's.
	Arch string
	// Version and Commit are linked into the program, where it has variables for them.
	Version, Commit string
}

// Compile writes the program to a file. The error holds what the compiler said.
func (b Build) Compile(ctx context.Context, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("folder of %s: %w", file, err)
	}
	flags := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", b.Version, b.Commit)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", file, b.Package)
	cmd.Dir = b.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if b.Arch != "" {
		cmd.Env = append(cmd.Env, "GOARCH="+b.Arch)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", b.Package, err, output.Bytes())
	}
	return nil
}
