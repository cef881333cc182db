package lifecycle

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600))
	r := NewRecord(Subject{UID: "uid-1", Kind: "Thing.example.com", Namespace: "team", Name: "one"}, "https://example.org/api", PhaseCreating).WithAttempt("abc", at)
	r.Identifiers, r.Seen = map[string]string{"b": "2", "a": "1/2"}, true
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":3,"uid":"uid-1","of":"Thing.example.com team/one","endpoint":"https://example.org/api","phase":"Creating","attempt":"abc","at":"2026-01-02T02:04:05Z","ids":{"a":"1/2","b":"2"},"seen":true}`
	if text != want {
		t.Errorf("the format has changed, and old records would be lost:\n got %s\nwant %s", text, want)
	}
	got, err := DecodeRecord(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&r, got); diff != "" {
		t.Error(diff)
	}
}

// An operator that does not know a field must not judge a record by the rest. So each field belongs to a version, and
// whoever adds one raises recordVersion and adds the line here.
func TestEachFieldOfARecordBelongsToAVersion(t *testing.T) {
	t.Parallel()
	fields := map[int][]string{
		2: {
			"v", "uid", "of", "endpoint", "phase", "attempt", "at", "ids", "seen", "key", "mac",
			"gen", "forced", "replacing", "op", "op.op", "op.url", "op.at", "op.failed", "parts", "parts.creating", "parts.ids", "again", "values",
		},
		3: {"op.values", "request", "resends"},
	}
	var want, got []string
	for version, names := range fields {
		want = append(want, names...)
		if version > recordVersion {
			t.Errorf("there are fields of version %d, and what is written says %d", version, recordVersion)
		}
	}
	for field := range reflect.TypeFor[Record]().Fields() {
		got = append(got, nameOf(field))
	}
	for field := range reflect.TypeFor[RecordedOperation]().Fields() {
		got = append(got, "op."+nameOf(field))
	}
	for field := range reflect.TypeFor[PartEntry]().Fields() {
		got = append(got, "parts."+nameOf(field))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("raise recordVersion with a new field, and say of which version it is:\n%s", diff)
	}
}

func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func TestARecordOfANewerOperatorIsNotRead(t *testing.T) {
	t.Parallel()
	var newer *NewerRecordError
	r, err := DecodeRecord(`{"v":99,"uid":{"any":"thing"},"key":"12345678"}`)
	if r != nil || !errors.As(err, &newer) || newer.Version != 99 || newer.Key != "12345678" {
		t.Fatalf("got %v, %v", r, err)
	}
	if !strings.Contains(err.Error(), "run the newer operator again") {
		t.Errorf("the error names no remedy: %v", err)
	}
}

func TestARecordThatIsNotThereIsNoError(t *testing.T) {
	t.Parallel()
	if r, err := DecodeRecord(""); r != nil || err != nil {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestAnUnusableRecordSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"without a version":        {`{"phase":"Created"}`, "its version is 0"},
		"with an unknown phase":    {`{"v":1,"phase":"Deleting"}`, "its phase is unknown"},
		"with no phase":            {`{"v":1}`, "its phase is unknown"},
		"cut off":                  {`{"v":1,"phase":"Cre`, "not the JSON"},
		"of another kind":          {`["v",1]`, "not the JSON"},
		"with a field of another":  {`{"v":1,"phase":"Created","ids":"x"}`, "not the JSON"},
		"longer than is ever made": {`{"v":1,"uid":"` + strings.Repeat("x", maxRecordBytes) + `"}`, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := DecodeRecord(tc.text)
			var unusable *RecordError
			if r != nil || !errors.As(err, &unusable) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, %v; want an error that says %q", r, err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "restore it from a backup") {
				t.Errorf("the error names no remedy: %v", err)
			}
		})
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(`{"v":1,"uid":"u","endpoint":"e","phase":"Created","attempt":"a","at":"x","ids":{"id":"1"},"seen":true}`)
	f.Add(`{"v":1,"phase":"None"}`)
	f.Add(`{"v":2,"uid":"u","of":"Thing.example.com one","endpoint":"e","phase":"Created","key":"12345678","mac":"AAAA"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := DecodeRecord(text)
		if err != nil || r == nil {
			return
		}
		again, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeRecord(again)
		if err != nil {
			if len(again) > maxRecordBytes {
				return // escapes may make it longer
			}
			t.Fatalf("what was decoded cannot be decoded again: %v", err)
		}
		third, err := second.Encode()
		if err != nil || third != again {
			t.Fatalf("equal records are not equal text: %q and %q (%v)", again, third, err)
		}
	})
}
