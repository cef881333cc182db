// Package security attacks an installed operator: across namespaces through every reference of the API, by the values of
// custom resources, by addresses, by what a server answers, and by looking for planted secrets wherever something can be
// read. "make test-security" runs it with the rights of the chart. docs/security.md says what it proves.
//
// That every reference is attacked is checked without the tag security, so that a new one cannot be forgotten. The
// package must not be imported.
package security
