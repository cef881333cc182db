// Package vault reads secrets from the KV version 2 engine of a HashiCorp Vault or an OpenBao, with a token or by the
// Kubernetes login. A client belongs to one endpoint and shows that endpoint's identity, so that it is the policy of that
// identity in Vault which says who may read what.
//
// It must not keep what it reads, and must not show it or its own token in an error.
package vault
