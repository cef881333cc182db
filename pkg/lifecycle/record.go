package lifecycle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// Phase is how far the making of the object outside has come, as far as it was written down.
type Phase string

// The phases of a record.
const (
	// PhaseNone: nothing of ours is outside. It is written, rather than the record removed, so that a record
	// which is not there means that somebody stripped it.
	PhaseNone Phase = "None"
	// PhaseCreating: a create was, or is about to be, sent, and its identity is not known.
	PhaseCreating Phase = "Creating"
	// PhaseCreated: the identity is known. It was chosen by the client or came from the server.
	PhaseCreated Phase = "Created"
)

const (
	// recordVersion is the version of the record's own format. Each new field raises it, so that an operator which does not
	// know the field holds what it finds instead of judging it by the rest.
	recordVersion = 3
	// unsignedVersion is the format from before records were signed.
	unsignedVersion = 1
)

// maxRecordBytes bounds what is parsed: annotations of one object are limited to 256 KiB altogether.
const maxRecordBytes = 64 << 10

// Record is what must survive everything: it is kept as one annotation of the custom resource, because metadata and
// finalizer change together, and because backups keep annotations and drop status.
type Record struct {
	Version int `json:"v"`
	// UID is the UID of the custom resource that wrote it. A copied manifest carries a foreign one.
	UID string `json:"uid"`
	// Of names that custom resource, for people and for the signature.
	Of string `json:"of,omitempty"`
	// Endpoint is the identity of the server: a change of base URL must not look like absence.
	Endpoint string `json:"endpoint"`
	Phase    Phase  `json:"phase"`
	// Attempt names the create that this record is about.
	Attempt string `json:"attempt,omitempty"`
	// At is the time of the intent, in UTC to the second. It is for people, and for how long an idempotency key is known.
	At string `json:"at,omitempty"`
	// Request is a keyed hash of the create that was intended, where it carries an idempotency key.
	Request string `json:"request,omitempty"`
	// Resends is how often that create was sent again. Each is written down before it is sent, so that no process takes an
	// attempt for unsent that another has sent again.
	Resends int `json:"resends,omitempty"`
	// Identifiers are all values that the paths of read and delete need.
	Identifiers map[string]string `json:"ids,omitempty"`
	// Generation is that of the custom resource with which the object was made, or, where policy.immutable is Replace, was
	// last seen as specified. 0 is not known.
	Generation int64 `json:"gen,omitempty"`
	// Forced is a hash of the last request for an update that was granted.
	Forced string `json:"forced,omitempty"`
	// Replacing tells that the object is deleted to be made anew.
	Replacing bool `json:"replacing,omitempty"`
	// Seen tells that the object was there and ours once. It is only kept where the status does not tell.
	Seen bool `json:"seen,omitempty"`
	// Underway is an operation that the server has accepted and not yet ended.
	Underway *RecordedOperation `json:"op,omitempty"`
	// Parts are the objects of the mapping's parts, by the part's name.
	Parts map[string]PartEntries `json:"parts,omitempty"`
	// Again tells that the status named an object when this intent was written, so that it proves nothing for this one.
	Again bool `json:"again,omitempty"`
	// Values is a keyed hash (Ring.HashValues) of the write-only values that the object was given last: they cannot be read
	// back. An intent has that of the values which its create carries.
	Values string `json:"values,omitempty"`
	// Key names the key of the signature MAC, which covers all other fields. Only Ring.Seal sets them.
	Key string `json:"key,omitempty"`
	MAC string `json:"mac,omitempty"`
}

// RecordedOperation is what must be known of an operation to ask about it, whoever does that.
type RecordedOperation struct {
	// Operation is what was asked for: Create, Update or Delete.
	Operation string `json:"op"`
	// URL is where it is asked about: path and query on the endpoint's own origin. It is empty where the server named
	// none. It holds no credential.
	URL string `json:"url,omitempty"`
	// At is when it was accepted, in UTC to the second. It is for people; no decision is made from it.
	At string `json:"at"`
	// Values is like Record.Values, of the values that the request has carried: the server has them once it is done,
	// whichever process sees that.
	Values string `json:"values,omitempty"`
	// Failed is the outcome of one that has failed, as long as it is not clear what it has left behind.
	Failed Outcome `json:"failed,omitempty"`
}

// Accept gives a copy of the record that names an operation which the server has accepted.
func (r Record) Accept(operation rest.Operation, url string, at time.Time) Record {
	r.Underway = &RecordedOperation{Operation: string(operation), URL: url, At: at.UTC().Format(time.RFC3339)}
	return r
}

// NewRecord gives a record for this custom resource at this endpoint.
func NewRecord(s Subject, endpoint string, phase Phase) Record {
	return Record{Version: recordVersion, UID: s.UID, Of: s.String(), Endpoint: endpoint, Phase: phase}
}

// WithAttempt gives a copy that names an attempt made at this time.
func (r Record) WithAttempt(attempt string, at time.Time) Record {
	r.Attempt, r.At = attempt, at.UTC().Format(time.RFC3339)
	return r
}

// Encode gives the record as compact JSON with sorted keys, so that equal records are equal text. Ring.Seal signs it.
func (r Record) Encode() (string, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", v1alpha1.RecordAnnotation, err)
	}
	return string(b), nil
}

// NewerRecordError says that a record was written by a newer operator. It is a record, and what it says is not known.
type NewerRecordError struct {
	// Version is the version of its format.
	Version int
	// Key names the key that it says it was signed with.
	Key string
}

// Error implements error.
func (e *NewerRecordError) Error() string {
	return fmt.Sprintf("annotation %s was written by a newer operator: its version is %d and this operator knows %d; run the newer operator again",
		v1alpha1.RecordAnnotation, e.Version, recordVersion)
}

// RecordError says that the record annotation cannot be used.
type RecordError struct {
	// Problem says what is wrong with it.
	Problem string
}

// Error implements error.
func (e *RecordError) Error() string {
	return fmt.Sprintf("annotation %s: %s; it is written by the operator alone: restore it from a backup, or remove it and say with annotation %s what is outside",
		v1alpha1.RecordAnnotation, e.Problem, v1alpha1.ResolveAnnotation)
}

// DecodeRecord reads an annotation's value without asking whether it is to be believed: Ring.Open does. The empty text
// gives nil. An unusable one gives a *RecordError, one of a newer operator a *NewerRecordError.
func DecodeRecord(text string) (*Record, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxRecordBytes {
		return nil, &RecordError{Problem: "it is too long"}
	}
	var frame struct {
		Version int    `json:"v"`
		Key     string `json:"key"`
	}
	if err := json.Unmarshal([]byte(text), &frame); err == nil && frame.Version > recordVersion {
		return nil, &NewerRecordError{Version: frame.Version, Key: frame.Key}
	}
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, &RecordError{Problem: "it is not the JSON that was written"}
	}
	if r.Version < unsignedVersion {
		return nil, &RecordError{Problem: fmt.Sprintf("its version is %d and this operator knows %d", r.Version, recordVersion)}
	}
	if op := r.Underway; op != nil && !rest.Operation(op.Operation).Mutating() {
		return nil, &RecordError{Problem: "the operation that it names is unknown"}
	}
	switch r.Phase {
	case PhaseNone, PhaseCreating, PhaseCreated:
		return &r, nil
	default:
		return nil, &RecordError{Problem: "its phase is unknown"}
	}
}
