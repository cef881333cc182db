// Package images makes the images that the tests of an installation need.
package images

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/restmapping/operator/internal/ociimage"
)

// Repositories and tags. Nobody pulls them: the domain is reserved for tests.
const (
	Operator = "restmapping.test/operator"
	Server   = "restmapping.test/restserver"
	// Old and New are two versions of the operator, which differ in what they call themselves; the server has Old alone.
	Old = "e2e-1"
	New = "e2e-2"
)

// wanted are all images.
var wanted = []struct{ program, source, repository, tag string }{
	{"operator", "./cmd/operator", Operator, Old},
	{"operator", "./cmd/operator", Operator, New},
	{"restserver", "./e2e/install/restserver", Server, Old},
}

// Archives are the files that Write makes in a folder.
func Archives(dir string) []string {
	var files []string
	for _, w := range wanted {
		files = append(files, filepath.Join(dir, w.program+"-"+w.tag+".tar"))
	}
	return files
}

// Write compiles the programs and writes the archives of all images into a folder; it returns their files. The first time it
// takes minutes, because the programs are static and share nothing with those of other tests.
func Write(ctx context.Context, root, dir string) ([]string, error) {
	for _, w := range wanted {
		file := filepath.Join(dir, w.program+"-"+w.tag)
		build := ociimage.Build{Root: root, Package: w.source, Version: w.tag, Commit: "test"}
		if err := build.Compile(ctx, file); err != nil {
			return nil, err
		}
		image, err := ociimage.New(ociimage.Spec{Program: file, Name: w.program, Arch: runtime.GOARCH})
		if err != nil {
			return nil, err
		}
		if err := ociimage.WriteArchive(file+".tar", w.repository+":"+w.tag, image); err != nil {
			return nil, err
		}
	}
	return Archives(dir), nil
}
