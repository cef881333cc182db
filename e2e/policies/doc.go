// Package policies tests the logic of docs/policies/gatekeeper.yaml. It must not be imported.
package policies
