// Package celrules compiles and evaluates the CEL expressions of a mapping. It answers one question: what is the value?
// It is the only package that knows CEL; plain values go in, and plain JSON values come out.
//
// # Variables
//
// Which variables an expression may name depends on the field it stands in.
//
//   - self: the custom resource, typed by the schema of its CRD, with apiVersion, kind, all of metadata, and status.
//   - identifiers: an object of strings, one for each declared identifier.
//   - secrets: an object of strings, one for each declared secret. Only where a secret may flow: request bodies, headers
//     and queries.
//   - observed: the object as read from the server, untyped.
//   - response: status (int), headers (a map of strings with lower-case names), body (untyped).
//   - item: one element of a list response, untyped.
//   - endpoint: name (string), labels and values (maps of strings).
//   - desired, changed: the object to be sent, and its part that differs from the observed one, untyped.
//   - part: one element of the list that the forEach of a part gives, typed where that list is; key: its key, a string;
//     parent: the observed object that the parts belong to, untyped.
//
// A variable without a value is null, so that observed.?id is absent while there is nothing to observe.
//
// # Types
//
// Fields have the types of the CRD's schema; an unknown field is an error with its line and column. The format of a string
// is not looked at: a date-time is a string, and timestamp(self.spec.when) reads it. Untyped are
// x-kubernetes-int-or-string, objects without properties, and the fields of x-kubernetes-preserve-unknown-fields that the
// schema does not name. A number is always a double, also when the resource says 5. Comparing with <, <=, > and >= works
// between int, uint and double; == and != need the same type on both sides: self.spec.ratio == 2.0.
//
// Every field name can be written: self.spec.namespace although namespace is a keyword of CEL, and self.spec['my-dash'] or
// self.spec.`my-dash` for a name with a dash; both are typed and checked. A field that may be absent is selected with
// self.spec.?size, and given a default with .orValue(1). A key that is not constant needs an untyped object:
// dyn(self.spec)[key].
//
// # Results
//
// Null and an absent optional are no value. Bytes become base64, a timestamp RFC 3339, a duration Go's form (1h30m0s). Inside
// objects and lists an absent optional is left out. Types that JSON does not have, such as a quantity, are refused.
// An expression that is untyped, or optional, is checked against what its field needs when it has run.
//
// # Functions
//
// CEL's standard functions and macros, optional types, and, each pinned to a version:
//
//   - from cel-go: Strings (4), Encoders (base64), Math, Sets, Lists (3), Bindings (cel.bind), TwoVarComprehensions;
//   - from Kubernetes: Lists, URLs, Regex (find, findAll), Quantity, IP, CIDR, Format, Semver;
//   - urlEncode(string): everything but the unreserved characters of RFC 3986 as %XX;
//   - lastSegment(string): the last path segment of a URL or a path, percent-decoded once;
//   - merge(object, object): the fields of both; the second's stand where both have one. Not deep;
//   - omit(object, list of names): the object without these fields;
//   - keys(object): its keys as a sorted list;
//   - toJSON(value): JSON text with sorted keys; parseJSON(string): the value of a JSON text.
//
// # Limits
//
// One evaluation costs at most 1,000,000 (ExpressionLimit), those of one pass together 10,000,000 (DefaultBudget). The context
// is looked at every 100 steps of a comprehension. A result holds at most 1 MiB of text, 100,000 values and 200
// levels. A single call that would build more than 4 MiB, or take tens of millions of steps, is refused before it begins;
// lists.range gives at most 100,000 numbers and + at most 1,000,000 elements. An expression whose estimated cost is
// above 10,000,000 is accepted with a warning; lists and texts without a limit in the schema are taken to have 1,000 elements.
//
// # Errors
//
// A CompileError is one of all things wrong with an expression. An EvaluationError says what happened and where, never
// with a value of the data; Missing tells a key, an index or an optional that is not there from all other failures.
//
// The package must not read from a cluster, a network or a clock, and must never put a value into an error.
package celrules
