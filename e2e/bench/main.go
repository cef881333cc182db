package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/repository"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	counts    []int
	scenarios []string
	out       string
	operator  string
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == serverCommand {
		return serve(ctx, args[1], args[2])
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	root, err := repository.Root()
	if err != nil {
		return err
	}
	results, err := bench(ctx, o, root)
	if err != nil {
		return err
	}
	m := machineNow()
	fmt.Print("\n", document(m, results))
	return errors.Join(write(o.out, root, document(m, results)), violations(results))
}

func write(path, root, text string) error {
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the tables: %w", err)
	}
	fmt.Println("\nWritten to", path)
	return nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	counts := flags.String("n", "200,1000", "numbers of custom resources, each a run of its own")
	list := flags.String("scenarios", strings.Join(scenarios(), ","), "what to run; create and delete always are")
	flags.StringVar(&o.out, "out", filepath.Join("docs", "benchmarks.md"), "file for the tables, in Markdown; empty for none")
	flags.StringVar(&o.operator, "operator", "", "the operator's program; bin/operator by default")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > 9999 {
			return o, fmt.Errorf("-n: %q is no number from 1 to 9999", text)
		}
		o.counts = append(o.counts, n)
	}
	var err error
	o.scenarios, err = chosen(strings.Split(*list, ","))
	return o, err
}

// bench starts the control plane and lets the contenders run one after the other, so that neither disturbs the other.
func bench(ctx context.Context, o options, root string) ([]result, error) {
	dir, err := os.MkdirTemp("", "restmapping-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder of the benchmark: %w", err)
	}
	fmt.Println("bench: starting a control plane; logs are in", dir)
	results, err := benchIn(ctx, o, root, dir)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w (the logs in %s are kept)", err, dir)
	}
	return results, errors.Join(err, os.RemoveAll(dir))
}

func benchIn(ctx context.Context, o options, root, dir string) ([]result, error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: filepath.Join(dir, "controlplane"), Log: os.Stdout})
	if err != nil {
		return nil, err
	}
	defer func() { _ = plane.Stop() }() // only removing a folder of its own could fail, and it has none
	contenders, err := install(ctx, plane, o, root, dir)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, n := range o.counts {
		for _, c := range contenders {
			fmt.Printf("bench: %s with %d objects\n", c.name(), n)
			got, err := play(ctx, turn{plane: plane, contender: c, n: n}, dir, o.scenarios, os.Stdout)
			if err != nil {
				return nil, err
			}
			results = append(results, got...)
		}
	}
	return results, nil
}

func install(ctx context.Context, plane *controlplane.ControlPlane, o options, root, dir string) ([]contender, error) {
	values := map[string]any{"managedKinds": []any{map[string]any{"group": mappedGroup, "resources": []any{resource}}}}
	if err := installation.Prepare(ctx, plane.Admin(), root, values); err != nil {
		return nil, err
	}
	if err := controlplane.ApplyYAML(ctx, plane.Admin(), []byte(ground())); err != nil {
		return nil, err
	}
	handwritten, err := newHandwritten(ctx, plane, root, dir)
	if err != nil {
		return nil, err
	}
	// Rights are applied within moments; a contender that starts before them would wait for its next try.
	if err := sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	return []contender{handwritten, &operatorContender{plane: plane, root: root, dir: dir, program: o.operator}}, nil
}

// violations is the only thing that makes a benchmark fail: time never does.
func violations(results []result) error {
	for _, r := range results {
		if r.Duplicates > 0 {
			return fmt.Errorf("%s made %d duplicates in %s with %d objects", r.Contender, r.Duplicates, r.Scenario, r.Objects)
		}
	}
	return nil
}
