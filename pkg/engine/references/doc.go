// Package references knows which custom resource refers to which: from an object to those who refer to it, and back. It
// also judges whether an object is ready to be referred to. An Index belongs to one running mapping and goes with it.
//
// The package must not watch, wait or call anything: it is filled from events and asked in passes.
package references
