package process

import (
	"context"
	"fmt"
	"net"
)

// FreePorts returns n different ports on 127.0.0.1 that nobody listens on at this moment. Another program may take one
// before the caller does, so the caller has to try again with new ones when its server cannot listen.
func FreePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("look for a free port on 127.0.0.1: %w", err)
		}
		// Held until all are found, so that they differ.
		defer func() { _ = listener.Close() }()
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("look for a free port: %s is no TCP address", listener.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, nil
}
