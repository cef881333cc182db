// Package golden compares what a test made with a file that was reviewed by a person, and rewrites the file when the
// test runs with -update. It serves tests alone and must not be imported by anything else.
package golden
