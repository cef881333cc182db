// Package install tests the chart as people use it: helm puts it on a cluster with nodes, pods run the image, and the REST
// server is a pod as well. The cluster is one of internal/node, made for the tests, where that can run; elsewhere it is the
// one of the kubeconfig in INSTALL_KUBECONFIG, with the images of `make e2e-images` on its nodes.
//
// The tests hang behind the build tag "install": `make e2e-install`.
package install
