// Command writeimages writes the archives of all images that the tests of an installation need into a folder:
//
//	go run ./e2e/install/writeimages .cache/images
//
// On a cluster of your own load them with `kind load image-archive`, or `ctr -n k8s.io images import`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/restmapping/operator/e2e/install/images"
	"github.com/restmapping/operator/internal/repository"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := write(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "writeimages:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one argument is needed, the folder for the archives, and there are %d", len(args))
	}
	root, err := repository.Root()
	if err != nil {
		return err
	}
	files, err := images.Write(ctx, root, args[0])
	for _, file := range files {
		fmt.Println(file)
	}
	return err
}
