package operator

import (
	"net/netip"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/pkg/httpapi"
)

func TestTheAPIServerIsRefused(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"https://10.0.0.1:6443": "10.0.0.1/32", "10.0.0.1:6443": "10.0.0.1/32", "https://[fd00::1]:6443": "fd00::1/128",
		"https://localhost:6443": "127.0.0.1/32",
	} {
		addresses, err := addressesOf(t.Context(), Options{
			Config: &rest.Config{Host: host}, ServiceHost: "10.96.0.1",
			AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, RefusedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.250.0.0/16")},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range []string{want, "10.96.0.1/32", "10.250.0.0/16"} {
			if !refuses(addresses, netip.MustParsePrefix(prefix)) {
				t.Errorf("%s: %s is not refused: %v", host, prefix, addresses.Refused)
			}
		}
		if len(addresses.Allowed) != 1 {
			t.Errorf("allowed: %v", addresses.Allowed)
		}
	}
}

func refuses(addresses httpapi.Addresses, prefix netip.Prefix) bool {
	for _, refused := range addresses.Refused {
		if refused.Range == prefix && refused.What != "" {
			return true
		}
	}
	return false
}
