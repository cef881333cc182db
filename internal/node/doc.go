// Package node starts a whole small cluster on one Linux machine, for the tests of an installation: the control plane of
// internal/controlplane, kube-scheduler, kube-proxy, and nodes of kubelet, containerd and runc that run real pods. No image
// registry is asked: images are made here.
//
// Isolate moves the process into namespaces of its own first (network, mounts, processes) and into a cgroup of its own, so
// that whatever happens the kernel takes everything away with the last process, and nothing of the machine is touched.
//
// It is test support and must never be imported by what is shipped.
package node
