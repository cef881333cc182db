// Package archtest keeps the laws of this repository as tests: who may import whom, that no decision hangs on the text
// of an error, that every condition reason is documented, that the documented folders exist, and that files stay small.
// It holds tests and what they need, and nothing else may import it.
package archtest
