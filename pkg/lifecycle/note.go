package lifecycle

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// SignNote gives the signature of a note that stands outside the record, such as beside an output, and says what a create
// has made. It holds for this custom resource and this place alone. Without a key it is empty, and such a note is never
// believed.
func (r *Ring) SignNote(s Subject, place string, note []byte) string {
	if r == nil {
		return ""
	}
	return r.signNoteWith(r.signing, s, place, note)
}

// GenuineNote tells whether an installation with these keys has signed this note for this custom resource and place.
func (r *Ring) GenuineNote(signature string, s Subject, place string, note []byte) bool {
	id, _, _ := strings.Cut(signature, ".")
	if r == nil {
		return false
	}
	if _, known := r.keys[id]; !known {
		return false
	}
	return hmac.Equal([]byte(signature), []byte(r.signNoteWith(id, s, place, note)))
}

func (r *Ring) signNoteWith(id string, s Subject, place string, note []byte) string {
	var parts [][]byte
	for _, part := range []string{s.UID, s.String(), place, string(note)} {
		parts = append(parts, binary.BigEndian.AppendUint64(nil, uint64(len(part))), []byte(part)) // no part can pass for the end of another
	}
	return id + "." + base64.RawURLEncoding.EncodeToString(digest(r.keys[id].notes, parts...))
}
