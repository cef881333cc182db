// Package lab is where tests see the operator at work: the operator's own code in the test's process, with the chart's
// ServiceAccount and rights, on a real control plane, against a scripted REST server, with a kind made for each test.
// It must not be imported by anything but tests.
package lab
