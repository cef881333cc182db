package operator

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/pkg/httpapi"
)

const lookupTimeout = 10 * time.Second

// addressesOf refuses endpoints the API server, beside what is always refused: whoever may write an endpoint could
// otherwise reach it from the operator's place in the network.
func addressesOf(ctx context.Context, o Options) (httpapi.Addresses, error) {
	addresses := httpapi.Addresses{Allowed: o.AllowedCIDRs}
	for _, prefix := range o.RefusedCIDRs {
		addresses.Refused = append(addresses.Refused, httpapi.RefusedRange{Range: prefix, What: "refused by --refuse-cidrs"})
	}
	server, _, err := rest.DefaultServerUrlFor(o.Config)
	if err != nil {
		return addresses, fmt.Errorf("read the address of the API server: %w", err)
	}
	for _, host := range []string{server.Hostname(), o.ServiceHost} {
		found, err := lookup(ctx, host)
		if err != nil {
			return addresses, err
		}
		for _, address := range found {
			address = address.WithZone("").Unmap()
			addresses.Refused = append(addresses.Refused, httpapi.RefusedRange{
				Range: netip.PrefixFrom(address, address.BitLen()), What: "the Kubernetes API server",
			})
		}
	}
	return addresses, nil
}

// lookup gives the addresses of a host, which may be one already.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "" {
		return nil, nil
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up the API server, which endpoints may not reach: %w", err)
	}
	return found, nil
}
