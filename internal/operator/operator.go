package operator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/controller/endpoint"
	"github.com/restmapping/operator/internal/controller/mapping"
	"github.com/restmapping/operator/internal/metrics"
	"github.com/restmapping/operator/internal/tracing"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/files"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/keys"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/engine/tokens"
	"github.com/restmapping/operator/pkg/httpapi"
)

// Options say where and how the operator runs. The zero value of a field is only usable where it says so.
type Options struct {
	// Config is how to reach the API server, with the rights of the operator's ServiceAccount.
	Config *rest.Config
	// MetricsAddress and HealthAddress are addresses to listen on; "0" turns them off.
	MetricsAddress, HealthAddress string
	// ConsoleAddress is where people and scripts ask, over TLS; empty or "0" turns it off. ConsoleCertDir holds tls.crt and
	// tls.key for it; without them a certificate is made that nobody has signed.
	ConsoleAddress, ConsoleCertDir string
	// LeaderElect makes the operator act only while it holds the lease.
	LeaderElect                               bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Namespace is the operator's own.
	Namespace string
	// CredentialsDirectory is where ClusterRestEndpoints may read files; empty allows none.
	CredentialsDirectory string
	// WatchNamespaces limits the custom resources that are served; empty means all.
	WatchNamespaces []string
	// AllowedCIDRs and RefusedCIDRs change where endpoints may connect; what is allowed wins.
	AllowedCIDRs, RefusedCIDRs []netip.Prefix
	// ServiceHost is the API server's address in the cluster, refused beside the host of Config; empty outside a cluster.
	ServiceHost string
	// Concurrency is how many custom resources of one mapping are worked on at once.
	Concurrency int
	// MinInterval is the shortest interval that a mapping can ask for, DrainTimeout how long passes under way may take
	// to end when the operator stops.
	MinInterval, DrainTimeout time.Duration
	// Webhook answers the API server what may be written.
	Webhook Webhook
	// Tracing makes spans of passes and requests; the zero value makes none. Who made it closes it after Run.
	Tracing tracing.Tracing
	// Version stands in the user agent.
	Version string
	Log     logr.Logger
}

func (o Options) userAgent() string { return "restmapping-operator/" + o.Version }

// Run runs the operator until ctx ends and everything it started has ended.
func Run(ctx context.Context, o Options) error {
	ctrl.SetLogger(o.Log)
	o.Config = o.Tracing.APIServer(o.Config)
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	meter := metrics.New(ctrlmetrics.Registry)
	defer meter.Close()
	meter.Build(o.Version)
	if err := wire(ctx, mgr, meter, o); err != nil {
		return err
	}
	o.Log.Info("starting", "version", o.Version, "namespace", o.Namespace, "watchNamespaces", o.WatchNamespaces)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	o.Log.Info("stopped")
	return nil
}

func newManager(o Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	grace := o.DrainTimeout * 4 / 3 // above the drain time, so that what is drained can also be recorded
	mgr, err := manager.New(o.Config, manager.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(o),
		Metrics:                       server.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
		GracefulShutdownTimeout:       &grace,
		// What the manager runs gets this context, and finds its logger there: without it failed and panicking passes would be
		// logged nowhere.
		BaseContext: func() context.Context { return ctrl.LoggerInto(context.Background(), o.Log) },
		// The names of our controllers are ours alone; a process that runs the operator twice in turn is a test.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return mgr, nil
}

// cacheOptions keep the cache small, and within the namespaces that the operator may read.
func cacheOptions(o Options) cache.Options {
	byObject := map[client.Object]cache.ByObject{
		&apiextensionsv1.CustomResourceDefinition{}: {Transform: mapping.StripSchemas},
	}
	if len(o.WatchNamespaces) > 0 {
		namespaces := map[string]cache.Config{}
		for _, namespace := range o.WatchNamespaces {
			namespaces[namespace] = cache.Config{}
		}
		byObject[&v1alpha1.RestEndpoint{}] = cache.ByObject{Namespaces: namespaces}
	}
	return cache.Options{ByObject: byObject, DefaultTransform: cache.TransformStripManagedFields()}
}

// wire puts the parts together and gives them to the manager, which starts and stops them in order: the engine first
// to stop, the caches it reads after it.
func wire(ctx context.Context, mgr manager.Manager, meter *metrics.Meter, o Options) error {
	c, err := newClients(mgr)
	if err != nil {
		return err
	}
	resolver, err := newResolver(c, o, meter.SecretRead)
	if err != nil {
		return err
	}
	addresses, err := addressesOf(ctx, o)
	if err != nil {
		return err
	}
	ring := newKeys(mgr, c, o)
	if err := ring.Load(ctx); err != nil {
		o.Log.Error(err, "the key that signs records cannot be used; custom resources wait for it", "secret", keys.SecretName)
	}
	credentials := files.New(o.CredentialsDirectory)
	registry := endpoints.New(endpoints.Config{
		Reader: mgr.GetCache(), Secrets: resolver, Tokens: tokens.New(c.kubernetes.CoreV1()), Files: credentials,
		OperatorNamespace: o.Namespace, Addresses: addresses,
	},
		endpoints.WithUserAgent(o.userAgent()), endpoints.WithObserver(meter.Request),
		endpoints.WithTracing(httpapi.Tracing{Tracer: o.Tracing.Tracer, Propagator: o.Tracing.Propagator}))
	watches := fleet.New(c.dynamic, fleet.WithLogger(mgr.GetLogger().WithName("fleet")))
	var eng *engine.Engine
	kept := outputs.New(outputs.Config{
		Metadata: c.metadata, Objects: c.kubernetes.CoreV1(), Namespaces: o.WatchNamespaces,
		Changed: func(namespace string, owner metav1.OwnerReference) { eng.OutputChanged(namespace, owner) },
	})
	eng = engine.New(engine.Config{
		Client: c.dynamic, Fleet: watches, Endpoints: engine.EndpointsOf(registry), Secrets: engine.SecretsOf(resolver), Outputs: kept, Keys: ring,
		Events: engine.EventsOf(mgr.GetEventRecorder("restmapping-operator")), Clock: clock.RealClock{},
		Namespaces: o.WatchNamespaces, Workers: o.Concurrency, MinInterval: o.MinInterval, DrainTimeout: o.DrainTimeout,
		Jitter: rand.Float64, Observe: meter.Pass, Going: c.going, Tracer: o.Tracing.Tracer,
	})
	meter.Watch(eng)
	meter.WatchFlows(registry.Flows)
	meter.WatchConditions(mgr.GetCache())
	if o.Webhook.Port > 0 {
		meter.WatchCertificate(filepath.Join(o.Webhook.CertDir, "tls.crt"))
	}
	registry.Subscribe(func(ref endpoints.Ref) { eng.EndpointChanged(ref.Kind, ref.Namespace, ref.Name) })
	resolver.Subscribe(eng.SecretChanged)
	controller := &mapping.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Dynamic: c.dynamic,
		Access: c.kubernetes.AuthorizationV1().SelfSubjectAccessReviews(), Engine: eng, Namespaces: o.WatchNamespaces,
	}
	return errors.Join(
		mgr.Add(everywhere{resolver}),
		mgr.Add(everywhere{kept}),
		mgr.Add(everywhere{credentials}),
		mgr.Add(eng),
		mgr.Add(everywhere{closing{registry, watches}}),
		endpoint.SetupWithManager(mgr, registry, mapping.UsersOf(controller, eng, registry)),
		controller.SetupWithManager(ctx, mgr),
		addWebhook(mgr, controller, o.Webhook),
		addConsole(mgr, c, eng, o),
		addChecks(mgr, c, resolver),
	)
}
