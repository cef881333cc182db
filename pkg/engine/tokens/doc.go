// Package tokens asks the API server for tokens of ServiceAccounts, for the audiences that an endpoint names. It gives
// one only for an account with the label restmapping.dev/allow-token: "true", so that nobody can use the operator to get a
// token that the account's owner did not mean for others.
//
// It must not keep tokens, and it must not decide which namespace an account is in: whoever asks passes the namespace of
// the endpoint.
package tokens
