package operator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestTheCacheHoldsNoSchemasAndStaysInItsNamespaces(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		served, want []string
	}{
		"all namespaces":  {nil, nil},
		"some namespaces": {[]string{"blue", "green"}, []string{"blue", "green"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := cacheOptions(Options{WatchNamespaces: tc.served})
			stripped := false
			var namespaces []string
			for object, by := range options.ByObject {
				switch object.(type) {
				case *apiextensionsv1.CustomResourceDefinition:
					stripped = by.Transform != nil && len(by.Namespaces) == 0
				case *v1alpha1.RestEndpoint:
					namespaces = names(by.Namespaces)
				}
			}
			if !stripped {
				t.Error("CRDs are cached whole")
			}
			if options.DefaultTransform == nil {
				t.Error("managed fields are cached")
			}
			if diff := cmp.Diff(tc.want, namespaces); diff != "" {
				t.Errorf("namespaces of RestEndpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func names(namespaces map[string]cache.Config) []string {
	var list []string
	for name := range namespaces {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Only what acts needs the lease: a standby keeps its caches warm.
func TestCachesNeedNoLease(t *testing.T) {
	t.Parallel()
	if (everywhere{}).NeedLeaderElection() {
		t.Error("caches wait for the lease")
	}
	if got := (Options{Version: "1.2.3"}).userAgent(); got != "restmapping-operator/1.2.3" {
		t.Errorf("user agent %q", got)
	}
}
