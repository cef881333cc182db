package celrules

import (
	"strings"
)

// CEL's runtime errors have no kinds that could be told apart by type. This file is the only one that looks at their
// text; a test holds each text against the real library.
const (
	textNoSuchKey       = "no such key"
	textIndexOutOfRange = "index out of bounds"
	textNoSuchOverload  = "no such overload"
	textDivisionByZero  = "division by zero"
	textModulusByZero   = "modulus by zero"
	textEmptyOptional   = "optional.none() dereference"
)

// missingKey gives the key of a failure for a missing key. It may be a value of the data: it must only be compared with what
// the expression itself says.
func missingKey(err error) string {
	key, _ := strings.CutPrefix(err.Error(), textNoSuchKey+": ")
	return key
}

// failure is why an evaluation failed, as far as CEL lets us know.
type failure int

const (
	failureOther failure = iota
	failureMissingKey
	failureMissingIndex
	failureEmptyOptional
	failureOverload
	failureDivision
)

// failureOf tells the failures apart.
func failureOf(err error) failure {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, textNoSuchKey):
		return failureMissingKey
	case strings.HasPrefix(text, textIndexOutOfRange):
		return failureMissingIndex
	case text == textEmptyOptional:
		return failureEmptyOptional
	case strings.HasPrefix(text, textNoSuchOverload):
		return failureOverload
	case strings.HasPrefix(text, textDivisionByZero), strings.HasPrefix(text, textModulusByZero):
		return failureDivision
	default:
		return failureOther
	}
}

// missing says that what was asked for is not there, and may be there later.
func (f failure) missing() bool {
	return f == failureMissingKey || f == failureMissingIndex || f == failureEmptyOptional
}
