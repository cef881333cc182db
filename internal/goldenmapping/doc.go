// Package goldenmapping plays the cases beside a ready-made mapping: a custom resource and the answers of a server go
// in, the requests that the mapping makes and what it shows of the answers come out. It serves tests alone. It must not
// open a connection or know a cluster.
package goldenmapping
