// Package console answers people and scripts, on a port of its own: what is managed and how it goes (GET /status, as a page,
// a table or JSON), look at it now (POST /reconcile), and what a mapping has become (GET /debug/mappings).
//
// It reads caches and the engine's memory alone; only /reconcile lets requests be sent. It holds no secret and shows none:
// what it shows are conditions, which are free of them. Who may ask is decided before, by the API server.
package console
