// Package controlplane starts a real etcd and kube-apiserver, and a kube-controller-manager on request, on free
// loopback ports with RBAC on, and hands out access to them: as an administrator or as a ServiceAccount with a real
// token. Tests, the demo and "make run" use it. The operator itself must not import it.
package controlplane
