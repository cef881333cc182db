package ociimage

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// User is who the program runs as, in the form of an image's configuration. It has no name and no home.
const User = "65532:65532"

// maxProgram is far above any program of ours; more than that is a mistake.
const maxProgram = 512 << 20

// Spec says what is in an image.
type Spec struct {
	// Program is the file that becomes the image's only one, Name what it is called there: "operator" is /operator.
	Program, Name string
	// Arch is the processor that the program was compiled for, in Go's words.
	Arch string
	// Ports are shown to people; they open nothing.
	Ports []string
	// Labels describe the image, such as org.opencontainers.image.version.
	Labels map[string]string
}

// New makes the image in memory. The same program and spec give the same digest, whenever and wherever.
func New(spec Spec) (v1.Image, error) {
	content, err := layer(spec)
	if err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return nil, fmt.Errorf("layer with %s: %w", spec.Program, err)
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", spec.Name, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("configuration of image %s: %w", spec.Name, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", spec.Arch
	config.Config = v1.Config{
		Entrypoint: []string{"/" + spec.Name}, User: User, WorkingDir: "/", Labels: spec.Labels, ExposedPorts: map[string]struct{}{},
	}
	for _, port := range spec.Ports {
		config.Config.ExposedPorts[port] = struct{}{}
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, fmt.Errorf("configuration of image %s: %w", spec.Name, err)
	}
	return image, nil
}

// layer is a tar file with the program alone. Its times are zero, so that they change no digest.
func layer(spec Spec) ([]byte, error) {
	info, err := os.Stat(spec.Program)
	switch {
	case err != nil:
		return nil, fmt.Errorf("program of image %s: %w", spec.Name, err)
	case info.Size() > maxProgram:
		return nil, fmt.Errorf("program of image %s: %s has %d bytes, more than %d", spec.Name, spec.Program, info.Size(), maxProgram)
	}
	program, err := os.ReadFile(spec.Program)
	if err != nil {
		return nil, fmt.Errorf("program of image %s: %w", spec.Name, err)
	}
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	header := &tar.Header{Name: spec.Name, Mode: 0o555, Size: int64(len(program)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0)}
	headerErr := archive.WriteHeader(header)
	_, writeErr := archive.Write(program)
	if err := errors.Join(headerErr, writeErr, archive.Close()); err != nil {
		return nil, fmt.Errorf("layer with %s: %w", spec.Program, err)
	}
	return buffer.Bytes(), nil
}

// WriteArchive writes an image under a reference such as registry.example.com/operator:1.2.3 to a file that container
// engines, containerd and kind can import.
func WriteArchive(file, reference string, image v1.Image) error {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("reference of the image: %w", err)
	}
	if err := tarball.WriteToFile(file, tag, image); err != nil {
		return fmt.Errorf("write image %s: %w", reference, err)
	}
	return nil
}
