package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// steps are kubectl commands, one after another.
type steps [][]string

const kubectlTimeout = 3 * time.Minute

// kubectl runs each command as a person would, and shows it with what it prints.
func (t *teller) kubectl(ctx context.Context, commands steps) error {
	for _, args := range commands {
		fmt.Println("$ kubectl " + strings.Join(args, " "))
		if err := t.runKubectl(ctx, args, nil); err != nil {
			return err
		}
	}
	return nil
}

// applyText applies YAML that is made here; a credential in it is not shown.
func (t *teller) applyText(ctx context.Context, what, manifest string) error {
	fmt.Println("$ kubectl apply -f -     # " + what)
	return t.runKubectl(ctx, []string{"apply", "-f", "-"}, []byte(manifest))
}

func (t *teller) runKubectl(ctx context.Context, args []string, input []byte) error {
	ctx, cancel := context.WithTimeout(ctx, kubectlTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(t.root, "bin", "kubectl"), append([]string{"--kubeconfig", t.kubeconfig()}, args...)...)
	cmd.Dir, cmd.Stdin = t.root, bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	fmt.Print(indent(string(out)))
	if err != nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
