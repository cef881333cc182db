package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// sizeField tells what the server has of a custom resource's newest generation.
const sizeField = "size"

// serverState is what the REST server's process tells the driver.
type serverState struct {
	// Requests counts by "METHOD route" since the last forget.
	Requests map[string]int `json:"requests"`
	// Live counts objects, Sized those with the size that was asked about, Seen those that were read since the last forget.
	Live  int `json:"live"`
	Sized int `json:"sized"`
	Seen  int `json:"seen"`
	// Duplicates counts violations since the start.
	Duplicates int `json:"duplicates"`
}

// restServer is the REST server with a second address for the driver.
type restServer struct {
	fake *restfake.Server

	mu   sync.Mutex
	seen map[string]bool
}

const itemRoute = "/widgets/{id}"

func newRestServer() *restServer {
	s := &restServer{seen: map[string]bool{}}
	s.fake = restfake.New([]restfake.Collection{{
		Path: "/widgets", IDField: "name", IDs: restfake.Chosen, DuplicateKey: "name",
	}}, restfake.WithoutRecord(), restfake.WithFaults(s.note))
	return s
}

// note remembers which objects were read. It makes no faults.
func (s *restServer) note(r *restfake.Request) restfake.Fault {
	if r.Method == http.MethodGet && r.Route == itemRoute {
		s.mu.Lock()
		s.seen[r.Path] = true
		s.mu.Unlock()
	}
	return restfake.Fault{}
}

func (s *restServer) forget() {
	s.fake.Forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
}

func (s *restServer) state(size int) serverState {
	s.mu.Lock()
	seen := len(s.seen)
	s.mu.Unlock()
	st := serverState{Requests: s.fake.Counts(), Seen: seen, Duplicates: len(s.fake.Duplicates())}
	for _, o := range s.fake.Live("") {
		st.Live++
		if fmt.Sprint(o.Fields[sizeField]) == strconv.Itoa(size) {
			st.Sized++
		}
	}
	return st
}

// drift changes the first n objects behind everybody's back.
func (s *restServer) drift(n int) error {
	for i, o := range s.fake.Live("") {
		if i == n {
			return nil
		}
		if err := s.fake.Change(o.Path, func(fields map[string]any) { fields[sizeField] = int64(driftedSize) }); err != nil {
			return err
		}
	}
	return nil
}

// control serves the driver.
func (s *restServer) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(s.state(number(r, sizeField))) // a driver that is gone needs no answer
	})
	mux.HandleFunc("POST /forget", func(http.ResponseWriter, *http.Request) { s.forget() })
	mux.HandleFunc("POST /drift", func(w http.ResponseWriter, r *http.Request) {
		if err := s.drift(number(r, "n")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return mux
}

func number(r *http.Request, parameter string) int {
	n, err := strconv.Atoi(r.URL.Query().Get(parameter))
	if err != nil {
		return -1
	}
	return n
}

// serve runs the REST server until ctx ends.
func serve(ctx context.Context, address, controlAddress string) error {
	s := newRestServer()
	listener, err := restfake.Start(ctx, address, s.fake)
	if err != nil {
		return err
	}
	defer listener.Close()
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", controlAddress)
	if err != nil {
		return fmt.Errorf("listen for the driver: %w", err)
	}
	control := &http.Server{Handler: s.control(), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- control.Serve(socket) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the driver: %w", err)
	case <-ctx.Done():
	}
	err = control.Close()
	if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
