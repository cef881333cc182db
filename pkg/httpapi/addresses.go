package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// Addresses says where connections may lead. The zero value allows every address but those that refusedRanges lists:
// what is on this machine or this link, where clouds keep credentials, and what is no single host.
type Addresses struct {
	// Allowed wins over everything that is refused.
	Allowed []netip.Prefix
	// Refused is refused beside the ranges that always are: the API server, for example.
	Refused []RefusedRange
}

// RefusedRange is a range that endpoints may not reach, and what it is, for messages.
type RefusedRange struct {
	Range netip.Prefix
	What  string
}

// AddressNotAllowedError says that a connection was not made because of the address it leads to.
type AddressNotAllowedError struct {
	Address netip.Addr
	Range   netip.Prefix
	What    string
}

// Error implements error.
func (e *AddressNotAllowedError) Error() string {
	return fmt.Sprintf("it leads to %s, in %s (%s), where endpoints may not connect: correct it, or let an administrator allow the range (--allow-cidrs, or spec.allowedCIDRs of a ClusterRestEndpoint)",
		e.Address, e.Range, e.What)
}

// refusedRanges are refused unless they are allowed. Private ranges (RFC 1918, fc00::/7) are not among them: services in
// the cluster are there.
func refusedRanges() []RefusedRange {
	const (
		thisHost = "this host"
		loopback = "loopback"
		link     = "link-local, where clouds serve credentials"
		cloud    = "a cloud's metadata service"
		many     = "multicast"
		reserved = "reserved"
	)
	return []RefusedRange{
		{netip.MustParsePrefix("0.0.0.0/8"), thisHost},
		{netip.MustParsePrefix("127.0.0.0/8"), loopback},
		{netip.MustParsePrefix("169.254.0.0/16"), link},
		{netip.MustParsePrefix("100.100.100.200/32"), cloud},
		{netip.MustParsePrefix("168.63.129.16/32"), cloud},
		{netip.MustParsePrefix("192.0.0.192/32"), cloud},
		{netip.MustParsePrefix("224.0.0.0/4"), many},
		{netip.MustParsePrefix("240.0.0.0/4"), reserved},
		{netip.MustParsePrefix("::/128"), thisHost},
		{netip.MustParsePrefix("::1/128"), loopback},
		{netip.MustParsePrefix("fe80::/10"), link},
		{netip.MustParsePrefix("fd00:ec2::254/128"), cloud},
		{netip.MustParsePrefix("fd20:ce::254/128"), cloud},
		{netip.MustParsePrefix("ff00::/8"), many},
	}
}

// check gives nil for an address that a connection may lead to.
func (a Addresses) check(address netip.Addr) error {
	for _, form := range forms(address) {
		if contained(a.Allowed, form) {
			continue
		}
		for _, refused := range append(refusedRanges(), a.Refused...) {
			if refused.Range.Contains(form) {
				return &AddressNotAllowedError{Address: form, Range: refused.Range, What: refused.What}
			}
		}
	}
	return nil
}

func contained(ranges []netip.Prefix, address netip.Addr) bool {
	for _, r := range ranges {
		if r.Contains(address) {
			return true
		}
	}
	return false
}

// forms gives an address, and the IPv4 address that a gateway would make of it: the three ways to write one in IPv6
// (RFC 4291 section 2.5.5, RFC 6052, RFC 3056) must not lead around the ranges.
func forms(address netip.Addr) []netip.Addr {
	address = address.WithZone("").Unmap()
	if !address.Is6() {
		return []netip.Addr{address}
	}
	bytes := address.As16()
	for prefix, at := range map[string]int{"64:ff9b::/96": 12, "::/96": 12, "2002::/16": 2} {
		if netip.MustParsePrefix(prefix).Contains(address) && !address.IsLoopback() && !address.IsUnspecified() {
			return []netip.Addr{address, netip.AddrFrom4([4]byte(bytes[at : at+4]))}
		}
	}
	return []netip.Addr{address}
}

// control is net.Dialer's: it is called with the very address that is about to be connected to, after every look-up of
// a name, so a name that changes its address between a check and the connection gains nothing.
func (a Addresses) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.New("the address to connect to is not an IP address and a port")
	}
	return a.check(target.Addr())
}

// checkHost finds early what control would find, for a host that is written as an address; behind a proxy it is the only
// check, since there the proxy makes the connection.
func (a Addresses) checkHost(field, host string) error {
	address, err := netip.ParseAddr(host)
	if err != nil {
		return nil //nolint:nilerr // a name is judged when it has been looked up
	}
	if err := a.check(address); err != nil {
		return &ConfigError{Field: field, Message: err.Error(), Err: err}
	}
	return nil
}

// explainAddress is empty for what has nothing to do with the address. The field is what the address came from.
func explainAddress(err error, field string) (string, error) {
	refused, dial := (*AddressNotAllowedError)(nil), (*net.OpError)(nil)
	if !errors.As(err, &refused) {
		return "", nil
	}
	if errors.As(err, &dial) && (dial.Op == "proxyconnect" || dial.Op == "socks connect") {
		field = "proxy.url"
	}
	return field + ": " + refused.Error(), refused
}
