package spec_test

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// The pages.
const (
	mappingPage  = "restmapping.md"
	endpointPage = "restendpoint.md"
)

// fence is a fenced block of a page.
type fence struct {
	// info is what stands behind the opening fence, such as "yaml mapping".
	info string
	line int
	text string
}

// fences reads the fenced blocks of a page.
func fences(t *testing.T, page string) []fence {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []fence
	var open *fence
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		switch info, isFence := strings.CutPrefix(line, "```"); {
		case isFence && open == nil:
			open = &fence{info: info, line: number}
		case isFence:
			list, open = append(list, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block is not closed", page, open.line)
	}
	return list
}

// decode reads the YAML of a block, strictly, and keeps whole numbers whole.
func decode(t *testing.T, page string, f fence, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict([]byte(f.text))
	if err != nil {
		t.Fatalf("%s:%d: %v", page, f.line, err)
	}
	if err := utiljson.Unmarshal(asJSON, into); err != nil {
		t.Fatalf("%s:%d: %v", page, f.line, err)
	}
}

// decodeStrict reads the YAML of a block and refuses names that the type does not have.
func decodeStrict(t *testing.T, page string, f fence, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(f.text), into); err != nil {
		t.Errorf("%s:%d: %v", page, f.line, err)
	}
}

// split gives the documents of a block.
func split(f fence) []fence {
	var list []fence
	for text := range strings.SplitSeq(f.text, "\n---\n") {
		list = append(list, fence{info: f.info, line: f.line, text: text + "\n"})
	}
	return list
}
