package servers

import (
	"context"
	"net"
)

// Toxiproxy is a running Toxiproxy: a proxy that breaks connections on demand, with an API without credentials. Its
// owner must call Stop.
type Toxiproxy struct{ *single }

// StartToxiproxy starts a Toxiproxy and returns when its API answers. The context bounds the start alone.
func StartToxiproxy(ctx context.Context, options Options) (*Toxiproxy, error) {
	program, err := built(options, "toxiproxy")
	if err != nil {
		return nil, err
	}
	s, err := startSingle(ctx, options, singleConfig{
		name: "toxiproxy", program: program, ready: "/version",
		args: func(_, address string) []string {
			host, port, _ := net.SplitHostPort(address)
			return []string{"-host", host, "-port", port}
		},
	})
	if err != nil {
		return nil, err
	}
	return &Toxiproxy{single: s}, nil
}
