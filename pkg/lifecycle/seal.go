package lifecycle

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Names of the entries of the Secret that holds an installation's keys. Entries of any other name are further keys that
// records may be signed with; nothing new is signed with them.
const (
	// SigningEntry is the key that signs.
	SigningEntry = "key"
	// AcceptEntry lists, by commas, the names of lost keys whose records are believed without their signature, and
	// AcceptUnsigned for records from before there were signatures.
	AcceptEntry = "accept"
	// AcceptUnsigned stands in AcceptEntry for records that were never signed.
	AcceptUnsigned = "unsigned"
)

// minKeyBytes is the least that a key can have; less could be guessed.
const minKeyBytes = 32

// Subject names the custom resource that a record speaks for.
type Subject struct {
	UID string
	// Kind is the kind with its group: Thing.example.com.
	Kind            string
	Namespace, Name string
}

// String names the subject without its UID.
func (s Subject) String() string {
	if s.Namespace == "" {
		return s.Kind + " " + s.Name
	}
	return s.Kind + " " + s.Namespace + "/" + s.Name
}

// key is one secret, as a key for each use.
type key struct{ records, values, notes []byte }

// Ring holds the keys of one installation: one signs, all of them verify. It never changes. A nil Ring has no key.
type Ring struct {
	signing  string
	keys     map[string]key
	accepted []string
	since    time.Time
}

// NewRing makes a ring of a Secret's content. since is when the Secret was made: what is to be believed without a
// signature must be of a custom resource that was there before.
func NewRing(content map[string][]byte, since time.Time) (*Ring, error) {
	r := &Ring{keys: map[string]key{}, since: since}
	for name, value := range content {
		if name == AcceptEntry {
			r.accepted = strings.FieldsFunc(string(value), func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
			continue
		}
		if len(value) < minKeyBytes {
			return nil, fmt.Errorf("entry %q has %d bytes, and a key needs at least %d random ones", name, len(value), minKeyBytes)
		}
		id, made, err := derive(value)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
		r.keys[id] = made
		if name == SigningEntry {
			r.signing = id
		}
	}
	if r.signing == "" {
		return nil, fmt.Errorf("it has no entry %q", SigningEntry)
	}
	return r, nil
}

// derive gives a key for each use, and a name that tells nothing of the secret.
func derive(secret []byte) (id string, k key, err error) {
	use := func(name string, size int) []byte {
		made, problem := hkdf.Key(sha256.New, secret, nil, "restmapping.dev/"+name, size)
		err = errors.Join(err, problem)
		return made
	}
	id = hex.EncodeToString(use("name", 4))
	return id, key{records: use("record", sha256.Size), values: use("values", sha256.Size), notes: use("notes", sha256.Size)}, err
}

// Signing names the key that signs; it is empty when there is none.
func (r *Ring) Signing() string {
	if r == nil {
		return ""
	}
	return r.signing
}

// ErrNoKey says that nothing can be signed.
var ErrNoKey = errors.New("there is no key to sign the record with")

// Seal gives the annotation's value: the record with its signature.
func (r *Ring) Seal(record Record) (string, error) {
	if r == nil {
		return "", ErrNoKey
	}
	record.Version, record.Key = recordVersion, r.signing
	var err error
	if record.MAC, err = sign(r.keys[r.signing], record); err != nil {
		return "", err
	}
	return record.Encode()
}

// sign covers every field but the signature itself.
func sign(k key, record Record) (string, error) {
	record.MAC = ""
	text, err := record.Encode()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(digest(k.records, []byte(text))), nil
}

func digest(k []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, k)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// Opened is a record with what its signature says of it.
type Opened struct {
	Record *Record
	State  RecordState
	// Renew tells that the record is to be believed, and is to be signed anew.
	Renew bool
	// Key names the key that it says it was signed with, AcceptUnsigned for none.
	Key string
}

// Open reads the annotation of a custom resource that was made at this time. An annotation that is not there, or holds
// no record, is RecordMissing: it proves nothing.
func (r *Ring) Open(text string, s Subject, made time.Time) Opened {
	record, err := DecodeRecord(text)
	if newer := (*NewerRecordError)(nil); errors.As(err, &newer) {
		return Opened{State: RecordNewer, Key: newer.Key}
	}
	unusable := err != nil || record == nil
	switch {
	case unusable && r == nil:
		return Opened{State: RecordUnverified} // nothing can be written down either
	case unusable:
		return Opened{State: RecordMissing}
	}
	o := Opened{Record: record, Key: record.Key}
	if record.Version == unsignedVersion {
		o.Key = AcceptUnsigned
	}
	if r == nil {
		o.State = RecordUnverified
		return o
	}
	k, known := r.keys[record.Key]
	switch {
	case o.Key == "":
		o.State = RecordForged // the signature was taken off
		return o
	case o.Key != AcceptUnsigned && known:
		want, err := sign(k, *record)
		if err != nil || !hmac.Equal([]byte(want), []byte(record.MAC)) {
			o.State = RecordForged
			return o
		}
		o.Renew = record.Key != r.signing
	case slices.Contains(r.accepted, o.Key) && !made.After(r.since):
		o.Renew = true
	default:
		o.State = RecordUnverified
		return o
	}
	o.State = stateOf(record, s)
	return o
}

// stateOf tells what a record that is to be believed says to this custom resource.
func stateOf(r *Record, s Subject) RecordState {
	switch {
	case r.UID != s.UID, r.Version != unsignedVersion && r.Of != s.String():
		return RecordForeign
	case r.Phase == PhaseCreating:
		return RecordCreating
	case r.Phase == PhaseCreated:
		return RecordCreated
	default:
		return RecordNone
	}
}

// valuesBytes is enough to tell a change by.
const valuesBytes = 16

// HashValues gives a keyed hash of values that are not to be written down. Those of two custom resources differ also
// where the values are the same.
func (r *Ring) HashValues(s Subject, values []byte) string {
	if r == nil {
		return ""
	}
	return r.hashWith(r.signing, s, values)
}

func (r *Ring) hashWith(id string, s Subject, values []byte) string {
	sum := digest(r.keys[id].values, []byte(s.UID), []byte{0}, values)
	return id + "." + base64.RawURLEncoding.EncodeToString(sum[:valuesBytes])
}

// SameValues tells whether a hash is of these values; known is false when that cannot be told, because it was made with a
// key that is not there any more, or was never made.
func (r *Ring) SameValues(hash string, s Subject, values []byte) (same, known bool) {
	id, _, _ := strings.Cut(hash, ".")
	if r == nil {
		return false, false
	}
	if _, ok := r.keys[id]; !ok {
		return false, false
	}
	return hmac.Equal([]byte(hash), []byte(r.hashWith(id, s, values))), true
}
