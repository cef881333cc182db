package lifecycle

import "testing"

func TestANoteIsBelievedAsItWasSigned(t *testing.T) {
	t.Parallel()
	const place, text = "Secret team/one-token", `{"attempt":"a"}`
	ring := ringOf(t, "key=a")
	signature := ring.SignNote(subjectOne, place, []byte(text))
	if !ring.GenuineNote(signature, subjectOne, place, []byte(text)) {
		t.Fatal("want its own note to be believed")
	}
	if !ringOf(t, "key=b", "former=a").GenuineNote(signature, subjectOne, place, []byte(text)) {
		t.Error("want a note to be believed that a former key has signed")
	}
	other := subjectOne
	other.UID = "uid-2"
	elsewhere := subjectOne
	elsewhere.Namespace = "others"
	refused := map[string]bool{
		"another text":            ring.GenuineNote(signature, subjectOne, place, []byte(`{"attempt":"b"}`)),
		"another place":           ring.GenuineNote(signature, subjectOne, "Secret team/two-token", []byte(text)),
		"another UID":             ring.GenuineNote(signature, other, place, []byte(text)),
		"another namespace":       ring.GenuineNote(signature, elsewhere, place, []byte(text)),
		"another key":             ringOf(t, "key=b").GenuineNote(signature, subjectOne, place, []byte(text)),
		"no signature":            ring.GenuineNote("", subjectOne, place, []byte(text)),
		"no key":                  (*Ring)(nil).GenuineNote(signature, subjectOne, place, []byte(text)),
		"a text that moved":       ring.GenuineNote(signature, subjectOne, place+`{"attempt"`, []byte(`:"a"}`)),
		"a hash of values":        ring.GenuineNote(ring.HashValues(subjectOne, []byte(text)), subjectOne, place, []byte(text)),
		"what nobody could sign":  (*Ring)(nil).GenuineNote((*Ring)(nil).SignNote(subjectOne, place, []byte(text)), subjectOne, place, []byte(text)),
		"its own name and no mac": ring.GenuineNote(ring.Signing()+".", subjectOne, place, []byte(text)),
	}
	for name, believed := range refused {
		if believed {
			t.Errorf("%s: the note is believed", name)
		}
	}
}
