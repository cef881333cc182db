package parts

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// facts are of a part that can do everything, and of keys that have waited long enough.
func facts(keys ...Key) Facts {
	for i := range keys {
		keys[i].Quiet, keys[i].Settled = !keys[i].Quiet, !keys[i].Settled // the tests name what is otherwise
	}
	return Facts{
		Look: lifecycle.LookFound, Prune: v1alpha1.PruneOwned, CanCreate: true, CanUpdate: true, CanDelete: true, Keys: keys,
		Policy: v1alpha1.Policy{Adoption: v1alpha1.AdoptNever, Drift: v1alpha1.DriftCorrect, OnMissing: v1alpha1.MissingRecreate},
	}
}

// told words a step: what is done, or why nothing is.
func told(s Step) string {
	switch {
	case s.Action == Write:
		text := "write"
		for _, c := range s.Changes {
			to := string(c.To)
			if c.Restore {
				to = "as before"
			} else if to == "" {
				to = "nothing"
			}
			text += fmt.Sprintf(" %s=%s", c.Key, to)
		}
		return text
	case s.Action != End:
		return string(s.Action) + " " + s.Key
	case s.Failed:
		return "failed"
	case s.Again:
		return "again"
	}
	text := "end"
	for _, p := range s.Problems {
		text += " " + p.Key + ":" + p.Reason
	}
	for _, key := range s.Held {
		text += " " + key + ":held"
	}
	for _, w := range s.Waiting {
		text += " " + w.Key + ":" + string(w.Delay)
	}
	for _, key := range s.Differs {
		text += " " + key + ":differs"
	}
	return text
}

func TestWhatIsNext(t *testing.T) {
	t.Parallel()
	wanted := func(k Key) Key { k.Name, k.Wanted = "a", true; return k }
	left := func(k Key) Key { k.Name = "a"; return k }
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	adopting := func(f *Facts) { f.Policy.Adoption = v1alpha1.AdoptByIdentity }
	for name, tc := range map[string]struct {
		facts Facts
		want  string
	}{
		"nothing was looked at":         {Facts{Look: lifecycle.LookNotYet}, "List "},
		"the list failed":               {Facts{Look: lifecycle.LookFailed, Keys: []Key{wanted(Key{})}}, "failed"},
		"nothing there":                 {facts(wanted(Key{})), "write a=Creating"},
		"nothing there, and no create":  {with(facts(wanted(Key{})), func(f *Facts) { f.CanCreate = false }), "end a:ExternalMissing"},
		"nothing there, held back":      {facts(wanted(Key{Held: true})), "end a:held"},
		"the intent is written":         {with(facts(wanted(Key{State: Creating})), func(f *Facts) { f.Intended = "a" }), "Create a"},
		"a stranger's":                  {facts(wanted(Key{Others: 1})), "end a:NotAdoptable"},
		"a stranger's, and taken over":  {with(facts(wanted(Key{Others: 1})), adopting), "write a=Made"},
		"two strangers'":                {with(facts(wanted(Key{Others: 2})), adopting), "end a:AmbiguousMatch"},
		"ours and equal":                {facts(wanted(Key{State: Made, Own: true, Equal: true})), "end"},
		"ours and different":            {facts(wanted(Key{State: Made, Own: true})), "Update a"},
		"ours, and another beside":      {facts(wanted(Key{State: Made, Own: true, Equal: true, Others: 1})), "end"},
		"two with one key and no id":    {with(facts(wanted(Key{State: Made, Own: true, Others: 1})), func(f *Facts) { f.ByKey = true }), "end a:AmbiguousMatch"},
		"different, only reported":      {with(facts(wanted(Key{State: Made, Own: true})), func(f *Facts) { f.Policy.Drift = v1alpha1.DriftReport }), "end a:differs"},
		"different, and no update":      {with(facts(wanted(Key{State: Made, Own: true})), func(f *Facts) { f.CanUpdate = false }), "end a:ImmutableFieldChanged"},
		"different, and cannot be":      {facts(wanted(Key{State: Made, Own: true, Immutable: true})), "end a:ImmutableFieldChanged"},
		"different, just written":       {facts(wanted(Key{State: Made, Own: true, JustWritten: true})), "end a:Consistency"},
		"gone, seen once":               {facts(wanted(Key{State: Made})), "end a:Short"},
		"gone, just written":            {facts(wanted(Key{State: Made, AbsentBefore: true, Quiet: true})), "end a:Consistency"},
		"gone":                          {facts(wanted(Key{State: Made, AbsentBefore: true})), "write a=Creating"},
		"gone, and never seen":          {facts(wanted(Key{State: Made, AbsentBefore: true, NeverSeen: true})), "end a:ExternalMissing"},
		"gone, and a stranger's there":  {facts(wanted(Key{State: Made, AbsentBefore: true, Others: 1})), "end a:NotAdoptable"},
		"gone, and to be told":          {with(facts(wanted(Key{State: Made, AbsentBefore: true})), func(f *Facts) { f.Policy.OnMissing = v1alpha1.MissingStall }), "end a:ExternalMissing"},
		"a lost answer, early":          {facts(wanted(Key{State: Creating, Settled: true, Others: 1})), "end a:Settle"},
		"a lost answer, found":          {facts(wanted(Key{State: Creating, Others: 1})), "write a=Made"},
		"a lost answer, found twice":    {facts(wanted(Key{State: Creating, Others: 2})), "end a:AmbiguousMatch"},
		"a lost answer, not found":      {facts(wanted(Key{State: Creating})), "write a=Creating"},
		"a lost answer, not wanted":     {facts(left(Key{State: Creating})), "write a=nothing"},
		"an answer with an id":          {facts(wanted(Key{State: Creating, Identified: true, Settled: true})), "write a=Made"},
		"a refusal that was not kept":   {facts(wanted(Key{State: Creating, Refused: true, Others: 1})), "write a=as before"},
		"not wanted":                    {facts(left(Key{State: Made, Own: true})), "Delete a"},
		"not wanted, and left":          {with(facts(left(Key{State: Made, Own: true})), func(f *Facts) { f.Prune = v1alpha1.PruneNone }), "write a=nothing"},
		"not wanted, no delete":         {with(facts(left(Key{State: Made, Own: true})), func(f *Facts) { f.CanDelete = false }), "write a=nothing"},
		"left behind by the deletion":   {with(facts(wanted(Key{State: Made, Own: true})), func(f *Facts) { f.Deleting, f.Prune = true, v1alpha1.PruneNone }), "Delete a"},
		"deleted, and may come back":    {facts(left(Key{State: Made, Gone: true, Settled: true})), "end a:Settle"},
		"deleted":                       {facts(left(Key{State: Made, Gone: true})), "write a=nothing"},
		"not wanted, seen gone once":    {facts(left(Key{State: Made})), "end a:Short"},
		"not wanted and never seen":     {facts(left(Key{State: Made, NeverSeen: true})), "Delete a"},
		"nobody's":                      {facts(left(Key{Others: 1})), "end"},
		"nobody's, and all are pruned":  {with(facts(left(Key{Others: 1})), func(f *Facts) { f.Prune = v1alpha1.PruneAll }), "Delete a"},
		"nobody's, and only reported":   {with(facts(left(Key{Others: 1})), func(f *Facts) { f.Prune, f.Policy.Drift = v1alpha1.PruneAll, v1alpha1.DriftReport }), "end a:differs"},
		"a create that was refused":     {with(facts(), func(f *Facts) { f.Sent = &Sent{Key: "a", Operation: rest.Create, Outcome: lifecycle.Rejected} }), "write a=as before"},
		"a create that was not sent":    {with(facts(), func(f *Facts) { f.Sent = &Sent{Key: "a", Operation: rest.Create, Outcome: lifecycle.NotSent} }), "write a=as before"},
		"a create without an answer":    {with(facts(), func(f *Facts) { f.Sent = &Sent{Key: "a", Operation: rest.Create, Outcome: lifecycle.Ambiguous} }), "again"},
		"an update that was refused":    {with(facts(), func(f *Facts) { f.Sent = &Sent{Key: "a", Operation: rest.Update, Outcome: lifecycle.Rejected} }), "again"},
		"a refusal that is written":     {with(facts(), func(f *Facts) { f.Sent = &Sent{Operation: rest.Create, Outcome: lifecycle.Conflict, Restored: true} }), "again"},
		"nothing is wanted or recorded": {facts(), "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := told(Next(tc.facts)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// One key that has a problem does not hold up the others, and a pass sends one request: an update before a create before
// a delete. What was learned is written with the intent.
func TestTheOrderOfWork(t *testing.T) {
	t.Parallel()
	keys := []Key{
		{Name: "stranger", Wanted: true, Others: 1},
		{Name: "extra", State: Made, Own: true},
		{Name: "new", Wanted: true},
		{Name: "newer", Wanted: true},
		{Name: "answered", Wanted: true, State: Creating, Identified: true},
		{Name: "different", Wanted: true, State: Made, Own: true},
	}
	want := []string{
		"write answered=Made", "Update different", "write new=Creating", "write newer=Creating", "Delete extra",
		"end stranger:NotAdoptable",
	}
	var got []string
	for range want {
		s := Next(facts(append([]Key(nil), keys...)...))
		got = append(got, told(s))
		done := s.Key
		if done == "" && len(s.Changes) > 0 {
			done = s.Changes[0].Key
		}
		for i := range keys {
			if keys[i].Name == done {
				keys[i].State, keys[i].Own, keys[i].Equal = Made, true, true
			}
			if done == "extra" && keys[i].Name == "extra" {
				keys[i] = Key{Name: "extra"}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
