package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/restmapping/operator/internal/console"
	"github.com/restmapping/operator/pkg/engine"
)

// leaseName is that of the lease of which the leader is the holder.
const leaseName = "restmapping-operator.restmapping.dev"

// leaseTimeout bounds how long the console waits for the leader's name.
const leaseTimeout = 2 * time.Second

// addConsole serves the console over TLS. Whoever asks shows a token that the API server knows (TokenReview) and needs the
// right to the path (SubjectAccessReview), as for any non-resource URL of the API server.
func addConsole(mgr manager.Manager, c clients, eng *engine.Engine, o Options) error {
	if o.ConsoleAddress == "" || o.ConsoleAddress == "0" {
		return nil
	}
	served, err := server.NewServer(server.Options{
		BindAddress: o.ConsoleAddress, SecureServing: true, CertDir: o.ConsoleCertDir,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		ExtraHandlers: console.Handlers(console.Config{
			Engine: eng, Reader: mgr.GetCache(), Leading: leading(mgr), Leader: leader(c, o.Namespace), Clock: clock.RealClock{}, Version: o.Version,
		}),
	}, mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the console: %w", err)
	}
	return mgr.Add(served)
}

func leading(mgr manager.Manager) func() bool {
	return func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
}

// leader gives the name of the pod that holds the lease: its holder is a pod's name and a random part.
func leader(c clients, namespace string) func(context.Context) string {
	return func(ctx context.Context) string {
		ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
		defer cancel()
		lease, err := c.kubernetes.CoordinationV1().Leases(namespace).Get(ctx, leaseName, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil { // no lease: a single replica needs none
			return ""
		}
		pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		return pod
	}
}
