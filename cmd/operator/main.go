// Command operator runs the RestMapping operator: flags and wiring, nothing else.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // an image that holds nothing but this program has no time zones

	_ "golang.org/x/crypto/x509roots/fallback" // nor has it the authorities of public servers; the system's win
)

// version and commit are set by the linker.
var version, commit = "dev", "unknown" //nolint:gochecknoglobals // set by -ldflags -X

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run gives the exit code: 0 after an orderly stop, 1 for a failure, 2 for flags that cannot be used.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	o, err := parse(args, env, stderr)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "operator:", err)
		return 2
	case o.help:
		return 0
	case o.version:
		fmt.Fprintf(stdout, "restmapping-operator %s (%s)\n", version, commit)
		return 0
	}
	if err := operate(ctx, o, env); err != nil {
		fmt.Fprintln(stderr, "operator:", err)
		return 1
	}
	return 0
}
