package process

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Run runs a program to its end. An error holds what the program printed.
func Run(ctx context.Context, config Config) error {
	cmd := exec.CommandContext(ctx, config.Path, config.Args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = config.Env, config.WorkDir, attributes(config.User)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w:\n%s", config.Name, err, strings.TrimSpace(string(output)))
	}
	return nil
}
