// Package parts decides what to do next about the objects outside that belong to the object of one custom resource: the
// teams of an organization. Like package lifecycle it is a pure function over facts: what the custom resource asks for,
// what its record says was made, and what one list has shown. An object is known by its key; it is
//
//   - wanted, when an element of the custom resource has its key;
//   - recorded, when the custom resource made it, or may have made it: that is written down before the create is sent;
//   - found, when the list shows it.
//
// The rules that keep parts from being doubled, leaked or lost:
//
//   - a create is sent only in the pass that wrote its key down, and once;
//   - a create whose outcome is not known is waited for until it can no longer take effect, and is then looked up;
//   - a list that failed never leads to a mutation;
//   - what was there before is neither changed nor deleted, unless the policy says so;
//   - a key is only forgotten when nothing that is under way can bring its object back;
//   - one key that fails does not hold up the others.
//
// It must never read a clock, touch the network or know a JSON shape.
package parts
