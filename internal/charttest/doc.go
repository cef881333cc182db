// Package charttest holds the tests of the Helm chart, the image and their documentation, and gives other tests the
// chart's own manifest, so that they run the operator with exactly the rights that the chart grants. It must not be
// imported by anything but tests.
package charttest
