// Package secrets holds the one resolver through which every Secret is read, whatever refers to it: the credential of
// an endpoint or a value in a request body. A Secret is read only when it carries the label
// restmapping.dev/allow-read: "true", so that nobody can use the operator to read a Secret that its owner did not open.
//
// A metadata-only watch on the labelled Secrets tells which exist and in which version; the data of a Secret that was
// asked for is fetched by name once for each version and kept in memory. In the steady state nothing is read from the
// API server. Whole Secrets are never listed.
//
// It must not decide which namespace a reference may name: whoever asks passes the namespace of the object that holds
// the reference, and never one that somebody wrote into it.
package secrets
