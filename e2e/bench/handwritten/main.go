package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type options struct {
	kubeconfig, url, metrics, health string
	interval                         time.Duration
	workers, rate                    int
}

func main() {
	var o options
	flags := flag.NewFlagSet("handwritten", flag.ExitOnError) // controller-runtime has flags of its own in flag.CommandLine
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&o.url, "url", "", "base URL of the REST API")
	flags.StringVar(&o.metrics, "metrics", "0", "address of /metrics")
	flags.StringVar(&o.health, "health", "0", "address of /readyz")
	flags.DurationVar(&o.interval, "interval", 10*time.Second, "time between two looks at one object")
	flags.IntVar(&o.workers, "workers", 10, "objects worked on at once")
	flags.IntVar(&o.rate, "rate", 10000, "requests a second to the REST API")
	_ = flags.Parse(os.Args[1:]) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "handwritten:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	logger, err := zap.NewProduction()
	if err != nil {
		return fmt.Errorf("make the logger: %w", err)
	}
	ctrl.SetLogger(zapr.NewLogger(logger))
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1 // as the operator runs in this benchmark
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: newScheme(), Metrics: metricsserver.Options{BindAddress: o.metrics}, HealthProbeBindAddress: o.health,
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: o.workers, IdleConnTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	r := &reconciler{client: mgr.GetClient(), interval: o.interval, server: &server{
		base: o.url, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}, limiter: rate.NewLimiter(rate.Limit(o.rate), o.rate),
	}}
	if err := r.setup(mgr, o.workers); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	synced := func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("the cache is not in sync")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("cache", healthz.Checker(synced)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
