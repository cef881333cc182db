package pass

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/restmapping/operator/pkg/engine/outputs"
)

// outputNote is kept with an output. It says which create the values are from, and what that create made, so that one
// write saves both. Write differs with each write, so that the watch can tell ours from others. It is signed: who may write
// Secrets in a namespace could otherwise name somebody else's object there.
type outputNote struct {
	Attempt string `json:"attempt,omitempty"`
	// Made tells that the values are from the answer to this attempt, Identifiers what it made.
	Made        bool              `json:"made,omitempty"`
	Identifiers map[string]string `json:"ids,omitempty"`
	// Rotated is a hash of the last request for a rotation that these values answer, At when they were stored.
	Rotated string    `json:"rotated,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Write   string    `json:"write"`
	// MAC is the signature over all of the above, the custom resource and the object that the note stands on.
	MAC string `json:"mac,omitempty"`
}

// signed gives the text that the signature is made over.
func (n outputNote) signed() ([]byte, error) {
	n.MAC = ""
	return json.Marshal(n)
}

// putOutput makes an output, or replaces what it holds. The caller has made sure that it is ours.
func (u *run) putOutput(ctx context.Context, ref outputs.Ref, was *outputs.Object, data map[string]string, note outputNote) (*outputs.Object, error) {
	note.Write = string(uuid.NewUUID())[:8]
	unsigned, err := note.signed()
	if err != nil {
		return nil, err
	}
	note.MAC = u.ring.SignNote(u.subject(), ref.String(), unsigned)
	text, err := json.Marshal(note)
	if err != nil {
		return nil, err
	}
	content := outputs.Content{Owner: u.ownerReference(), Note: string(text), Data: data}
	if was == nil {
		return u.Outputs.Create(ctx, ref, content)
	}
	return u.Outputs.Update(ctx, ref, was, content)
}

// readNote gives what a note says. That proves nothing about objects outside; see genuineNote.
func readNote(object *outputs.Object) outputNote {
	note := outputNote{}
	if json.Unmarshal([]byte(object.Note), &note) != nil {
		return outputNote{}
	}
	return note
}

// genuineNote gives a note that this installation has signed for this custom resource and object. Any other is an empty one.
func (u *run) genuineNote(ref outputs.Ref, object *outputs.Object) outputNote {
	note := readNote(object)
	unsigned, err := note.signed()
	if err != nil || !u.ring.GenuineNote(note.MAC, u.subject(), ref.String(), unsigned) {
		return outputNote{}
	}
	return note
}
