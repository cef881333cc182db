// Package mappings holds ready-made mappings for real APIs as YAML: for each kind the CRD, the mapping, a sample and
// golden transcripts of what goes over the wire. The only Go in it are the tests that keep them true. It must not hold
// code for an API: what a mapping cannot say is missing in the vocabulary.
package mappings
