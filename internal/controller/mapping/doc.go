// Package mapping holds the controller of RestMappings: it finds the CRD of the target, compiles the mapping against
// it, checks the operator's rights, has the engine run it, and says in the mapping's status how that goes. One
// mapping's trouble is its own. It must never wait for a watch or for a REST server.
package mapping
