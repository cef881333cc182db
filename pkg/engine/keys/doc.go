// Package keys holds the keys of one installation, which sign what the operator writes down about objects outside. They
// live in one Secret of the operator's own namespace; the package makes it on the first start, reads it, and reads it
// again when a record asks for a key that is not there. It must never make a new key while records signed with another
// one exist, and must never show a key to anybody but pkg/lifecycle.
package keys
