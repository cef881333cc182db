package chart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"sigs.k8s.io/yaml"
)

// Dir is where the operator's chart is, from the root of the repository.
const Dir = "deploy/helm/restmapping-operator"

// maxOutput is far above any manifest of ours; more than that is a mistake.
const maxOutput = 16 << 20

// RenderError is what the helm program answered when it refused to render.
type RenderError struct {
	Chart  string
	Output string // what helm wrote to its error stream
	Err    error
}

func (e *RenderError) Error() string {
	return fmt.Sprintf("render chart %s: %v: %s", e.Chart, e.Err, e.Output)
}

// Unwrap gives the error of the process.
func (e *RenderError) Unwrap() error { return e.Err }

// Render returns the manifest that "helm template" makes of the chart with the values. No cluster is asked.
func Render(ctx context.Context, helmBinary, chartDir, release, namespace string, values map[string]any) ([]byte, error) {
	input, err := yaml.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("values of chart %s: %w", chartDir, err)
	}
	cmd := exec.CommandContext(ctx, helmBinary, "template", release, chartDir, "--namespace", namespace, "--values", "-")
	stdout, stderr := &bounded{limit: maxOutput}, &bounded{limit: maxOutput}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	if err := cmd.Run(); err != nil {
		return nil, &RenderError{Chart: chartDir, Output: strings.TrimSpace(stderr.String()), Err: err}
	}
	return stdout.Bytes(), nil
}

// bounded is a buffer that refuses more than its limit.
type bounded struct {
	bytes.Buffer
	limit int
}

// Write keeps p, or ends the process's output when the limit is passed.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}
