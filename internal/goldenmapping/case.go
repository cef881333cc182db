package goldenmapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/pkg/rest"
)

// The files of a case. Those that begin with an underscore are made by the tests.
const (
	ObjectFile = "object.yaml"
	ServerFile = "server.yaml"
	LogFile    = "_http.log"
	StatusFile = "_status.yaml"
)

// Case is a custom resource what it refers to, and what a server answers.
type Case struct {
	// Title is the first comment of the server's file.
	Title string
	// Object is the custom resource as a person applies it.
	Object map[string]any
	// Referents are the objects that it refers to, by the name of the reference.
	Referents map[string]map[string]any
	Script    Script
}

// Script is what is known before, and what the server answers, in order.
type Script struct {
	// Identifiers are those that an earlier create has learned from the server.
	Identifiers map[string]string `json:"identifiers,omitempty"`
	// Values are those of the endpoint.
	Values    map[string]string `json:"values,omitempty"`
	Exchanges []Exchange        `json:"exchanges"`
}

// Exchange is one operation and its answer.
type Exchange struct {
	Operation rest.Operation `json:"operation"`
	// Part is the part of the mapping that it is about, and Key the element; empty for the object itself.
	Part    string            `json:"part,omitempty"`
	Key     string            `json:"key,omitempty"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body is any JSON value, absent for an empty body.
	Body any `json:"body,omitempty"`
}

// LoadCase reads the two files of a case.
func LoadCase(dir string) (*Case, error) {
	c := &Case{}
	text, err := os.ReadFile(filepath.Join(dir, ObjectFile))
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", filepath.Base(dir), err)
	}
	if err := unmarshalExact(text, &c.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ObjectFile), err)
	}
	if c.Referents, err = loadReferents(dir); err != nil {
		return nil, err
	}
	script, err := os.ReadFile(filepath.Join(dir, ServerFile))
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", filepath.Base(dir), err)
	}
	if c.Title, err = title(script); err == nil {
		err = parseScript(script, &c.Script)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ServerFile), err)
	}
	return c, nil
}

// parseScript is strict about names, and keeps whole numbers whole.
func parseScript(text []byte, into *Script) error {
	if err := yaml.UnmarshalStrict(text, &Script{}); err != nil {
		return err
	}
	return unmarshalExact(text, into)
}

// unmarshalExact reads numbers as the operator's caches and HTTP client do: int64 where it fits, otherwise float64.
func unmarshalExact(text []byte, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(asJSON, into)
}

var errNoTitle = errors.New("the first line is not a comment that says what the case shows")

func title(script []byte) (string, error) {
	line, _, _ := strings.Cut(string(script), "\n")
	text, isComment := strings.CutPrefix(line, "# ")
	if !isComment {
		return "", errNoTitle
	}
	return text, nil
}
