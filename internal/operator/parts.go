package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/keys"
	"github.com/restmapping/operator/pkg/engine/secrets"
)

// clients share the manager's configuration, and so its limits and user agent.
type clients struct {
	dynamic    *dynamic.DynamicClient
	metadata   metadata.Interface
	kubernetes *kubernetes.Clientset
}

func newClients(mgr manager.Manager) (clients, error) {
	var (
		c    clients
		errs [3]error
	)
	c.dynamic, errs[0] = dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	c.metadata, errs[1] = metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	c.kubernetes, errs[2] = kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err := errors.Join(errs[:]...); err != nil {
		return c, fmt.Errorf("make clients: %w", err)
	}
	return c, nil
}

// going reads the CRD from the API server: what its deletion has brought about is seen after it, and never before.
func (c clients) going(ctx context.Context, gvr schema.GroupVersionResource) (bool, error) {
	crds := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	crd, err := c.metadata.Resource(crds).Get(ctx, gvr.GroupResource().String(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("get CustomResourceDefinition %s: %w", gvr.GroupResource(), err)
	}
	return crd.DeletionTimestamp != nil, nil
}

// newResolver reads Secrets of the served namespaces, and of the operator's own for ClusterRestEndpoints.
func newResolver(c clients, o Options, observe func(error)) (*secrets.Resolver, error) {
	namespaces := slices.Clone(o.WatchNamespaces)
	if len(namespaces) > 0 && !slices.Contains(namespaces, o.Namespace) {
		namespaces = append(namespaces, o.Namespace)
	}
	resolver, err := secrets.New(secrets.Config{Metadata: c.metadata, Secrets: c.kubernetes.CoreV1(), Namespaces: namespaces}, secrets.WithObserver(observe))
	if err != nil {
		return nil, fmt.Errorf("make the secret resolver: %w", err)
	}
	return resolver, nil
}

// newKeys gives the keys of this installation, in a Secret of the operator's own namespace.
func newKeys(mgr manager.Manager, c clients, o Options) *keys.Keys {
	written := records{mappings: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), metadata: c.metadata, namespaces: o.WatchNamespaces}
	return keys.New(keys.Config{
		Secrets: c.kubernetes.CoreV1().Secrets(o.Namespace), Namespace: o.Namespace, Written: written.Written, Clock: clock.RealClock{},
	})
}

// everywhere lets a runnable run without the lease as well: a standby keeps its caches warm.
type everywhere struct{ manager.Runnable }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// closing ends what the engine uses, after the engine.
type closing struct {
	registry *endpoints.Registry
	watches  *fleet.Fleet
}

const closeTimeout = 10 * time.Second

// Start implements manager.Runnable.
func (c closing) Start(ctx context.Context) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(c.watches.Close(ctx), c.registry.Close(ctx))
}

// addChecks: alive is that the process answers; ready that caches are in sync and the API server answers.
func addChecks(mgr manager.Manager, c clients, resolver *secrets.Resolver) error {
	synced := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) || !resolver.Synced() {
			return errors.New("caches are not in sync")
		}
		return resolver.Healthy()
	}
	apiServer := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := c.kubernetes.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return fmt.Errorf("the API server does not answer: %w", err)
		}
		return nil
	}
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", synced),
		mgr.AddReadyzCheck("api-server", apiServer),
	)
}
