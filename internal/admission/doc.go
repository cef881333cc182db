// Package admission holds the operator's own kinds, when they are written, against what their CRDs' schemas cannot judge. It
// only ever says no or warns: whatever gets past it is judged again by the controllers.
package admission
