package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/restmapping/operator/internal/admission"
	"github.com/restmapping/operator/internal/operator"
	"github.com/restmapping/operator/internal/tracing"
)

// flushTimeout bounds sending the last spans: a receiver that is away must not keep a pod from ending.
const flushTimeout = 5 * time.Second

// operate runs the operator until ctx ends.
func operate(ctx context.Context, o options, env func(string) (string, bool)) error {
	logger, err := newLogger(o)
	if err != nil {
		return err
	}
	defer func() { _ = logger.Sync() }() // the last lines; there is nowhere left to tell a failure
	config, err := restConfig(o)
	if err != nil {
		return err
	}
	allowed, err := ranges(o.allowCIDRs)
	if err != nil {
		return err
	}
	refused, err := ranges(o.refuseCIDRs)
	if err != nil {
		return err
	}
	log := zapr.NewLogger(logger).WithValues("commit", commit)
	traces, err := tracing.New(ctx, tracing.Config{Env: env, Version: version, Log: log})
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	defer flush(ctx, traces, log)
	return operator.Run(ctx, operator.Options{
		Config: config, MetricsAddress: o.metricsAddress, HealthAddress: o.healthAddress,
		ConsoleAddress: o.consoleAddress, ConsoleCertDir: o.consoleCerts,
		LeaderElect: o.leaderElect, LeaseDuration: o.leaseDuration, RenewDeadline: o.renewDeadline, RetryPeriod: o.retryPeriod,
		Namespace: o.namespace, WatchNamespaces: o.watchNamespaces, CredentialsDirectory: o.credentialsDirectory, AllowedCIDRs: allowed, RefusedCIDRs: refused, ServiceHost: os.Getenv("KUBERNETES_SERVICE_HOST"), Concurrency: o.concurrency,
		Webhook:     webhookOf(o),
		MinInterval: o.minInterval, DrainTimeout: o.drainTimeout, Version: version, Log: log, Tracing: traces,
	})
}

// flush sends the last spans.
func flush(ctx context.Context, traces tracing.Tracing, log logr.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := traces.Close(ctx); err != nil {
		log.Info("the last traces are lost", "error", err.Error())
	}
}

func webhookOf(o options) operator.Webhook {
	w := operator.Webhook{Port: o.webhookPort, CertDir: o.webhookCertDir}
	if o.webhookSecret != "" {
		w.Rotation = &admission.Rotation{
			Secret:        types.NamespacedName{Namespace: o.namespace, Name: o.webhookSecret},
			Configuration: o.webhookConfiguration, DNSName: o.webhookDNSName,
		}
	}
	return w
}

func restConfig(o options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w; outside a cluster give --kubeconfig", err)
	}
	config.QPS, config.Burst = o.qps, o.burst
	config.UserAgent = "restmapping-operator/" + version
	return config, nil
}

func newLogger(o options) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(o.logLevel)
	if err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	cfg := zap.NewProductionConfig()
	cfg.Level, cfg.Encoding = zap.NewAtomicLevelAt(level), o.logFormat
	cfg.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	cfg.EncoderConfig.TimeKey = "time"
	cfg.DisableStacktrace = true
	logger, err := cfg.Build()
	if err != nil {
		return nil, fmt.Errorf("make the logger: %w", err)
	}
	return logger, nil
}
