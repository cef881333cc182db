package lifecycle

import (
	"fmt"
	"maps"
)

// PartEntry is what the record keeps of one object of a part. It is there from before the create is sent until the object
// is known to be gone.
type PartEntry struct {
	// Creating tells that a create was, or is about to be, sent, and that its outcome is not written down.
	Creating bool `json:"creating,omitempty"`
	// Identifiers are all values that its paths need beside those of the mapping.
	Identifiers map[string]string `json:"ids,omitempty"`
}

// PartEntries are the entries of one part by key.
type PartEntries map[string]PartEntry

// WithParts gives a copy that keeps the parts of another record.
func (r Record) WithParts(of *Record) Record {
	if of != nil {
		r.Parts = of.Parts
	}
	return r
}

// WithPart gives a copy whose entries of one part are these.
func (r Record) WithPart(name string, entries PartEntries) Record {
	r.Parts = maps.Clone(r.Parts)
	if r.Parts == nil {
		r.Parts = map[string]PartEntries{}
	}
	r.Parts[name] = entries
	if len(entries) == 0 {
		delete(r.Parts, name)
	}
	return r
}

// Fits tells whether the record can be written: one that is too long could not be read again.
func (r Record) Fits() error {
	text, err := r.Encode()
	if err != nil {
		return err
	}
	if len(text) > maxRecordBytes {
		return fmt.Errorf("the custom resource has too many parts: its record would have %d bytes and can have %d; divide its elements among several custom resources",
			len(text), maxRecordBytes)
	}
	return nil
}
