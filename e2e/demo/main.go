// Command demo shows the operator at work: a control plane, a real Gitea, and the mappings of this repository. "demo"
// starts everything, tells the story and leaves it running; "demo down" ends it. The servers belong to a keeper, a
// process of its own ("demo keep"), so that they outlive the story.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/restmapping/operator/internal/repository"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	root, err := repository.Root()
	if err != nil {
		return err
	}
	p := placesIn(root)
	switch {
	case len(args) == 0:
		return up(ctx, p)
	case len(args) == 1 && args[0] == "down":
		return down(ctx, p)
	case len(args) == 1 && args[0] == "keep":
		return keep(ctx, p)
	default:
		return fmt.Errorf("unknown arguments %q; use no argument, or down", args)
	}
}
