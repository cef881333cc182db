package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/operator"
)

// Account is the chart's ServiceAccount, in charttest.Namespace.
const Account = charttest.Release

// Lab is one operator at work for one test.
type Lab struct {
	tb    testing.TB
	plane *controlplane.ControlPlane
	// Admin is unlimited access to the control plane.
	Admin *rest.Config
	// Client is Admin's.
	Client dynamic.Interface

	options  operator.Options
	stop     context.CancelFunc
	finished chan error
	log      *logBuffer
}

// Option changes how the operator runs.
type Option func(*operator.Options)

// setup applies the chart's CRDs, ServiceAccount and rights once for each control plane.
var setup sync.Map //nolint:gochecknoglobals // of *sync.Once by control plane: tests of a package share it

// New starts the operator; it is stopped with the test. Tests that use it in one process must not run in parallel.
func New(tb testing.TB, options ...Option) *Lab {
	tb.Helper()
	plane := controlplane.ForTest(tb)
	stored, _ := setup.LoadOrStore(plane, &sync.Once{})
	once, _ := stored.(*sync.Once)
	once.Do(func() {
		if err := controlplane.ApplyYAML(tb.Context(), plane.Admin(), charttest.Setup(tb, nil)); err != nil {
			tb.Fatalf("apply the chart's identity: %v", err)
		}
	})
	l := &Lab{tb: tb, plane: plane, Admin: unlimited(plane.Admin()), log: &logBuffer{}}
	client, err := dynamic.NewForConfig(l.Admin)
	if err != nil {
		tb.Fatal(err)
	}
	l.Client = client
	account, err := plane.As(tb.Context(), charttest.Namespace, Account)
	if err != nil {
		tb.Fatal(err)
	}
	account.QPS, account.Burst = 200, 400
	account.UserAgent = "restmapping-operator/test"
	l.options = operator.Options{
		Config: account, MetricsAddress: "0", HealthAddress: "0", Namespace: charttest.Namespace, Concurrency: 4,
		MinInterval: time.Second, DrainTimeout: 10 * time.Second, Version: "test", Log: l.logger(),
		AllowedCIDRs:  []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
	for _, option := range options {
		option(&l.options)
	}
	l.Start()
	tb.Cleanup(l.cleanup)
	return l
}

// In gives the same laboratory for a part of its test: what fails, fails there.
func (l *Lab) In(tb testing.TB) *Lab {
	tb.Helper()
	part := *l
	part.tb = tb
	return &part
}

func unlimited(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.QPS, out.Burst = -1, -1
	return out
}

// Start starts the operator again after Stop.
func (l *Lab) Start() {
	l.tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.tb.Context()))
	l.stop, l.finished = cancel, make(chan error, 1)
	go func() { l.finished <- operator.Run(ctx, l.options) }()
}

// Stop ends the operator as SIGTERM does and waits for it.
func (l *Lab) Stop() {
	l.tb.Helper()
	if l.stop == nil {
		return
	}
	l.stop()
	l.stop = nil
	select {
	case err := <-l.finished:
		if err != nil && !errors.Is(err, context.Canceled) {
			l.tb.Errorf("the operator ended with: %v", err)
		}
	case <-time.After(time.Minute):
		l.tb.Error("the operator did not stop within a minute")
	}
}

func (l *Lab) cleanup() {
	l.Stop()
	if l.tb.Failed() {
		l.tb.Logf("the operator's log:\n%s", l.log)
	}
}

// Counters gives the API server's own counters.
func (l *Lab) Counters() controlplane.Counters {
	l.tb.Helper()
	c, err := l.plane.APICounters(l.tb.Context())
	if err != nil {
		l.tb.Fatal(err)
	}
	return c
}

// Apply applies YAML as the administrator.
func (l *Lab) Apply(format string, args ...any) {
	l.tb.Helper()
	text := fmt.Sprintf(format, args...)
	if err := controlplane.ApplyYAML(l.tb.Context(), l.Admin, []byte(text)); err != nil {
		l.tb.Fatalf("%v\n%s", err, text)
	}
}

// Log gives what the operator has logged so far.
func (l *Lab) Log() string { return l.log.String() }

const maxLog = 1 << 20

// logBuffer keeps the log in memory; the end matters most, so the beginning goes first.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *logBuffer) add(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(append(b.text, line...), '\n')
	if over := len(b.text) - maxLog; over > 0 {
		b.text = b.text[over:]
	}
}

// String implements fmt.Stringer.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func (l *Lab) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.log.add(time.Now().Format("15:04:05.000 ") + prefix + " " + args)
	}, funcr.Options{})
}
