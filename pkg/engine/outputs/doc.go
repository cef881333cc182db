// Package outputs keeps Secrets and ConfigMaps that values of the outside are written into. It watches the metadata of
// what the operator wrote, reads and writes single objects, and never touches an object that another owner controls. It
// must not know where the values come from.
package outputs
