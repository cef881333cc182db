package restfake

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listener is a Server on an address of its own.
type Listener struct {
	*Server
	// URL is http://host:port without a slash at the end.
	URL string

	http *http.Server
	done chan struct{}
	once sync.Once
}

// Start serves on an address such as "127.0.0.1:0". Close ends it, with every connection.
func Start(ctx context.Context, address string, server *Server) (*Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("restfake: listen on %s: %w", address, err)
	}
	l := &Listener{
		Server: server,
		URL:    "http://" + listener.Addr().String(),
		http: &http.Server{
			Handler: server, ReadHeaderTimeout: time.Minute,
			ErrorLog: log.New(io.Discard, "", 0), // dropped connections are what it is for
		},
		done: make(chan struct{}),
	}
	go func() {
		defer close(l.done)
		// Serve always ends with an error; Close is what ends it.
		_ = l.http.Serve(listener)
	}()
	return l, nil
}

// Close ends the server and waits for its goroutines.
func (l *Listener) Close() {
	l.once.Do(func() {
		_ = l.http.Close()
		<-l.done
	})
	l.Server.Close()
}
