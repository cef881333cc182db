package lifecycle

import (
	"strings"
	"testing"
	"time"
)

var (
	keysMade = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	before   = keysMade.Add(-time.Hour)
	after    = keysMade.Add(time.Hour)
)

func ringOf(t *testing.T, entries ...string) *Ring {
	t.Helper()
	content := map[string][]byte{}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		if name != AcceptEntry {
			value = strings.Repeat(value, minKeyBytes)
		}
		content[name] = []byte(value)
	}
	ring, err := NewRing(content, keysMade)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func sealed(t *testing.T, ring *Ring, r Record) string {
	t.Helper()
	text, err := ring.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var subjectOne = Subject{UID: "uid-1", Kind: "Thing.example.com", Namespace: "team", Name: "one"}

func TestARecordIsBelievedAsItWasSigned(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, "key=a")
	for phase, want := range map[Phase]RecordState{PhaseNone: RecordNone, PhaseCreating: RecordCreating, PhaseCreated: RecordCreated} {
		r := NewRecord(subjectOne, "https://example.org", phase)
		r.Identifiers = map[string]string{"id": "7"}
		got := ring.Open(sealed(t, ring, r), subjectOne, after)
		if got.State != want || got.Renew || got.Record.Identifiers["id"] != "7" {
			t.Errorf("phase %s is %+v, want %s", phase, got, want)
		}
	}
}

// Each field of a record, taken from the operator's own words, is changed in turn.
func TestAnEditedRecordIsForged(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, "key=a")
	r := NewRecord(subjectOne, "https://example.org", PhaseCreated).WithAttempt("abc", before)
	r.Identifiers, r.Seen = map[string]string{"id": "7"}, true
	text := sealed(t, ring, r)
	for name, edit := range map[string][2]string{
		"the UID":               {`"uid":"uid-1"`, `"uid":"uid-2"`},
		"whose it is":           {`team/one`, `team/two`},
		"the endpoint":          {`https://example.org`, `https://example.com`},
		"the phase":             {`"phase":"Created"`, `"phase":"None"`},
		"the attempt":           {`"attempt":"abc"`, `"attempt":"abd"`},
		"the time":              {`2026-01-31`, `2026-01-30`},
		"an identifier":         {`"id":"7"`, `"id":"8"`},
		"one more identifier":   {`"id":"7"`, `"id":"7","x":"1"`},
		"what was seen":         {`,"seen":true`, ``},
		"the signature":         {`"mac":"`, `"mac":"A`},
		"the signature is gone": {`"mac":"`, `"mad":"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := strings.Replace(text, edit[0], edit[1], 1)
			if edited == text {
				t.Fatalf("the record has no %q: %s", edit[0], text)
			}
			if got := ring.Open(edited, subjectOne, before); got.State != RecordForged {
				t.Errorf("it is %s", got.State)
			}
		})
	}
}

// ofVersion is a record as an operator of an earlier version has signed it.
func ofVersion(t *testing.T, ring *Ring, version int, r Record) string {
	t.Helper()
	r.Version, r.Key = version, ring.Signing()
	mac, err := sign(ring.keys[r.Key], r)
	if err != nil {
		t.Fatal(err)
	}
	r.MAC = mac
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatTheKeysSayOfARecord(t *testing.T) {
	t.Parallel()
	lost, now := ringOf(t, "key=l"), ringOf(t, "key=a")
	record := NewRecord(subjectOne, "e", PhaseCreated)
	unsigned := `{"v":1,"uid":"uid-1","endpoint":"e","phase":"Created"}`
	other := subjectOne
	other.UID = "uid-2"
	moved := subjectOne
	moved.Name = "two"
	for name, tc := range map[string]struct {
		ring  *Ring
		text  string
		of    Subject
		made  time.Time
		want  RecordState
		renew bool
	}{
		"none there":                                  {now, "", subjectOne, after, RecordMissing, false},
		"no record at all":                            {now, "{", subjectOne, after, RecordMissing, false},
		"of another custom resource":                  {now, sealed(t, now, record), other, after, RecordForeign, false},
		"of another name":                             {now, sealed(t, now, record), moved, after, RecordForeign, false},
		"signed with a lost key":                      {now, sealed(t, lost, record), subjectOne, before, RecordUnverified, false},
		"signed with a former key":                    {ringOf(t, "key=a", "former=l"), sealed(t, lost, record), subjectOne, after, RecordCreated, true},
		"edited, of a former key":                     {ringOf(t, "key=a", "former=l"), strings.Replace(sealed(t, lost, record), "uid-1", "uid-2", 1), subjectOne, after, RecordForged, false},
		"a lost key is accepted":                      {ringOf(t, "key=a", "accept=x, "+lost.Signing()), sealed(t, lost, record), subjectOne, before, RecordCreated, true},
		"a lost key is accepted, of a younger one":    {ringOf(t, "key=a", "accept="+lost.Signing()), sealed(t, lost, record), subjectOne, after, RecordUnverified, false},
		"a lost key is accepted, of another resource": {ringOf(t, "key=a", "accept="+lost.Signing()), sealed(t, lost, record), other, before, RecordForeign, true},
		"an accepted key that is there is verified":   {ringOf(t, "key=a", "accept="+now.Signing()), strings.Replace(sealed(t, now, record), "uid-1", "uid-2", 1), subjectOne, before, RecordForged, false},
		"never signed":                                {now, unsigned, subjectOne, before, RecordUnverified, false},
		"never signed, of another resource":           {now, unsigned, other, before, RecordUnverified, false},
		"unsigned ones are accepted":                  {ringOf(t, "key=a", "accept=unsigned"), unsigned, subjectOne, before, RecordCreated, true},
		"unsigned ones are accepted, of a younger":    {ringOf(t, "key=a", "accept=unsigned"), unsigned, subjectOne, after, RecordUnverified, false},
		"unsigned ones are accepted, of another":      {ringOf(t, "key=a", "accept=unsigned"), unsigned, other, before, RecordForeign, true},
		"a signature taken off":                       {ringOf(t, "key=a", "accept=unsigned"), `{"v":2,"uid":"uid-1","endpoint":"e","phase":"Created"}`, subjectOne, before, RecordForged, false},
		"of a newer operator":                         {now, `{"v":4,"phase":"Created","ids":7,"key":"12345678","mac":"x"}`, subjectOne, before, RecordNewer, false},
		"of a newer operator, and no keys":            {nil, `{"v":4}`, subjectOne, before, RecordNewer, false},
		"of the version before":                       {now, ofVersion(t, now, 2, record), subjectOne, after, RecordCreated, false},
		"no keys":                                     {nil, sealed(t, now, record), subjectOne, before, RecordUnverified, false},
		"no keys, and no record":                      {nil, "", subjectOne, before, RecordUnverified, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.ring.Open(tc.text, tc.of, tc.made)
			if got.State != tc.want || got.Renew != tc.renew {
				t.Errorf("got %s, renew %t; want %s, renew %t", got.State, got.Renew, tc.want, tc.renew)
			}
		})
	}
}

func TestARingNeedsAKeyThatCannotBeGuessed(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]map[string][]byte{
		"nothing":         {},
		"only former":     {"former": make([]byte, 32)},
		"short":           {"key": make([]byte, 31)},
		"a short further": {"key": make([]byte, 32), "former": make([]byte, 8)},
	} {
		if ring, err := NewRing(content, keysMade); err == nil {
			t.Errorf("%s: got %v", name, ring)
		}
	}
	var none *Ring
	if _, err := none.Seal(Record{}); err == nil || none.Signing() != "" || none.HashValues(subjectOne, nil) != "" {
		t.Error("without keys something was signed")
	}
}

func TestAHashOfValuesTellsAChangeAndNothingElse(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, "key=a")
	other := subjectOne
	other.UID = "uid-2"
	hash := ring.HashValues(subjectOne, []byte("hunter2"))
	check := func(what string, r *Ring, hash string, s Subject, values string, same, known bool) {
		t.Helper()
		if gotSame, gotKnown := r.SameValues(hash, s, []byte(values)); gotSame != same || gotKnown != known {
			t.Errorf("%s: same %t, known %t; want %t, %t", what, gotSame, gotKnown, same, known)
		}
	}
	check("the same", ring, hash, subjectOne, "hunter2", true, true)
	check("changed", ring, hash, subjectOne, "hunter3", false, true)
	check("of another", ring, hash, other, "hunter2", false, true)
	check("by a former key", ringOf(t, "key=b", "former=a"), hash, subjectOne, "hunter2", true, true)
	check("by a lost key", ringOf(t, "key=b"), hash, subjectOne, "hunter2", false, false)
	check("none", ring, "", subjectOne, "hunter2", false, false)
	check("without keys", nil, hash, subjectOne, "hunter2", false, false)
	if strings.Contains(hash, "hunter2") || hash == ring.HashValues(other, []byte("hunter2")) {
		t.Errorf("the hash %q shows more than a change", hash)
	}
}
