package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module is the path of this module.
const module = "github.com/restmapping/operator"

// sourceFile is one Go file of this module.
type sourceFile struct {
	// path is relative to the repository, with slashes.
	path    string
	content string
}

func (f sourceFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// generated says whether the file carries Go's mark for generated code.
func (f sourceFile) generated() (bool, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.content, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return false, err
	}
	return ast.IsGenerated(parsed), nil
}

// lines counts the lines of the file.
func (f sourceFile) lines() int { return strings.Count(f.content, "\n") }

// sources reads all Go files below a folder. Hidden folders, test data, binaries and nested modules are left out.
func sources(root string) ([]sourceFile, error) {
	var found []sourceFile
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && skipped(path, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		found = append(found, sourceFile{path: filepath.ToSlash(relative), content: string(content)})
		return err
	})
	return found, err
}

func skipped(path, name string) bool {
	if strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "testdata"}, name) {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}
