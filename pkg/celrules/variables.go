package celrules

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Variable is a name an expression may use for a value of the pass.
type Variable string

// The variables. Which of them an expression may use depends on the field it stands in.
const (
	// Self is the custom resource, typed by the schema of its CRD.
	Self Variable = "self"
	// Identifiers are the declared identifiers, each a string.
	Identifiers Variable = "identifiers"
	// Observed is the object as it was read from the server, after select.
	Observed Variable = "observed"
	// ObservedHeaders are the headers of the response that held the observed object, with lower-case names; none when it
	// was not read, or came from a list.
	ObservedHeaders Variable = "observedHeaders"
	// Response is an HTTP response: status, headers with lower-case names, body.
	Response Variable = "response"
	// Operation is the last answer about an operation that the server has accepted: status, headers, body.
	Operation Variable = "operation"
	// Item is one element of a list response.
	Item Variable = "item"
	// Refs are the custom resources that self refers to, each typed by the schema of its CRD.
	Refs Variable = "refs"
	// Secrets are the declared secret values, each a string.
	Secrets Variable = "secrets"
	// Endpoint is the server: its name, labels and the values an administrator gave it.
	Endpoint Variable = "endpoint"
	// Desired is the object as the custom resource asks for it.
	Desired Variable = "desired"
	// Changed is the part of the desired object that differs from the observed one.
	Changed Variable = "changed"
	// Part is the element of the custom resource that one part of it is made from.
	Part Variable = "part"
	// Key is the text that tells a part from the others of its kind.
	Key Variable = "key"
	// Parent is the observed object to which the parts belong.
	Parent Variable = "parent"
)

// variables lists all of them, in the order messages name them.
func variables() []Variable {
	return []Variable{Self, Identifiers, Observed, ObservedHeaders, Response, Operation, Item, Refs, Secrets, Endpoint, Desired, Changed, Part, Key, Parent}
}

// Declarations say what an environment knows.
type Declarations struct {
	// Self is the schema of the custom resource's version, for the whole object. Without it self is untyped.
	Self *apiextensionsv1.JSONSchemaProps
	// Identifiers are the names of the fields of the variable identifiers.
	Identifiers []string
	// Secrets are the names of the fields of the variable secrets.
	Secrets []string
	// References are the fields of the variable refs with the schemas of what they are, for the whole object. One without
	// a schema is untyped.
	References map[string]*apiextensionsv1.JSONSchemaProps
	// Parts is the expression that gives the list whose elements the variable part stands for. Without it part is untyped.
	Parts *Expression
}

// Use says how one expression is used.
type Use struct {
	// Field is the expression's place in the mapping, for errors: spec.fields[2].value.
	Field string
	// Variables are what the expression may name. Anything else is an error that lists what is allowed.
	Variables []Variable
	// Result is what the expression must give.
	Result Result
	// Secrets says that a secret may flow into the result. Only then the variable secrets may be named.
	Secrets bool
}
