// Command restserver is the REST server of the tests of an installation: it keeps things in memory, as a pod in the
// cluster, and tells what it was asked.
//
//	GET /_report   the requests that change something, and the things that were made twice
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/restmapping/operator/e2e/install/report"
	"github.com/restmapping/operator/internal/restfake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "restserver:", err)
		os.Exit(1)
	}
}

// serve answers until the context ends.
func serve(ctx context.Context) error {
	things := restfake.New([]restfake.Collection{{Path: "/things", IDs: restfake.AssignedText, DuplicateKey: "owner"}})
	defer things.Close()
	routes := http.NewServeMux()
	routes.Handle("/", things)
	routes.HandleFunc("GET /_report", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(summary(things)) // a reader that went away asks again
	})
	server := &http.Server{Addr: ":8080", Handler: routes, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

// summary leaves out the looks: how many there are is no promise.
func summary(things *restfake.Server) report.Report {
	found := report.Report{Duplicates: len(things.Duplicates())}
	for _, request := range things.Requests() {
		found.Last = max(found.Last, request.Number)
		agent := request.Header.Get("User-Agent")
		if request.Method == http.MethodGet {
			found.Looks++
			found.LastAgent = agent
			continue
		}
		found.Changes = append(found.Changes, report.Change{Method: request.Method, Path: request.Path, Status: request.Status, Agent: agent})
	}
	return found
}
