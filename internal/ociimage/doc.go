// Package ociimage makes container images of one static program each, without a container engine and without a
// registry: the program is the only file in the image, and it runs as a user without a name. The release and the tests
// on a real node use it; the operator itself must not import it.
package ociimage
