// Package restfake is a scripted REST server in memory, for tests, fault demonstrations and benchmarks. It keeps
// collections of JSON objects with the habits of real servers (ids given by the server or chosen by the client, unique
// keys, Location instead of a body, pages, defaults, write-only fields), does to single requests what networks and
// servers do at their worst (see Fault), and checks at commit time what must never happen, such as two live objects
// for one key.
//
// A Server is a plain http.Handler; Start serves it on an address of its own. What it knows is asked while it runs:
// Requests, Count, Live, Duplicates.
//
// It is test support and must never be imported by what is shipped.
package restfake
