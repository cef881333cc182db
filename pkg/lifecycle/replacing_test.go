package lifecycle

import (
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// edited are the facts of an object that was found, and of which a field was edited that cannot be changed.
func edited(change ...func(*Facts)) Facts {
	f := Facts{
		Finalizer: true, Safety: v1alpha1.SafetyUniqueKey, AllChosen: true, CanCreate: true, CanUpdate: true, CanDelete: true,
		Policy: v1alpha1.Policy{Immutable: v1alpha1.ImmutableReplace, Drift: v1alpha1.DriftCorrect, OnMissing: v1alpha1.MissingRecreate},
		Record: RecordCreated, Confirmed: true, Look: LookFound, Equal: true, Immutable: true, Edited: true, Steady: true,
		Quiet: true, Fenced: true, Probe: ProbeNotThere,
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func deleted(o Outcome, look Look) func(*Facts) {
	return func(f *Facts) { f.Replacing, f.Sent, f.Look = true, &Sent{Operation: rest.Delete, Outcome: o}, look }
}

func TestWhatCannotBeChangedIsReplaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		facts  Facts
		action Action
		reason string
	}{
		"first of all it is written down":         {edited(), BeginReplacing, ""},
		"then deleted":                            {edited(func(f *Facts) { f.Replacing = true }), SendDelete, v1alpha1.ReasonReplacing},
		"not inside the consistency window":       {edited(func(f *Facts) { f.Steady = false }), Wait, v1alpha1.ReasonReplacing},
		"without an update, for any difference":   {edited(func(f *Facts) { f.Equal, f.Immutable, f.CanUpdate = false, false, false }), BeginReplacing, ""},
		"not where it can be updated":             {edited(func(f *Facts) { f.Equal, f.Immutable = false, false }), SendUpdate, v1alpha1.ReasonUpdating},
		"not where the policy is to stall":        {edited(func(f *Facts) { f.Policy.Immutable = v1alpha1.ImmutableStall }), Stall, v1alpha1.ReasonImmutableFieldChanged},
		"not what nobody edited":                  {edited(func(f *Facts) { f.Edited = false }), Stall, v1alpha1.ReasonImmutableFieldChanged},
		"not where drift is only reported":        {edited(func(f *Facts) { f.Policy.Drift = v1alpha1.DriftReport }), Stall, v1alpha1.ReasonImmutableFieldChanged},
		"not what cannot be made again":           {edited(func(f *Facts) { f.CanCreate = false }), Stall, v1alpha1.ReasonImmutableFieldChanged},
		"not what cannot be deleted":              {edited(func(f *Facts) { f.CanDelete = false }), Stall, v1alpha1.ReasonImmutableFieldChanged},
		"not what may be another object":          {edited(func(f *Facts) { f.Unmarked = true }), Stall, v1alpha1.ReasonNotAdoptable},
		"not what was there before":               {edited(func(f *Facts) { f.Record = RecordNone }), Stall, v1alpha1.ReasonNotAdoptable},
		"never where it is only observed":         {edited(func(f *Facts) { f.Policy.Management = v1alpha1.ManagementObserveOnly }), Finish, v1alpha1.ReasonObserveOnly},
		"it ends when the edit is taken back":     {edited(func(f *Facts) { f.Replacing, f.Immutable = true, false }), EndReplacing, ""},
		"it is looked at after the delete":        {edited(deleted(Success, LookNotYet)), Observe, ""},
		"what is still there is waited for":       {edited(deleted(Success, LookFound)), Wait, v1alpha1.ReasonReplacing},
		"what cannot be seen is no absence":       {edited(deleted(Success, LookFailed)), Retry, v1alpha1.ReasonObservationFailed},
		"accepted and not seen: gone":             {edited(deleted(Success, LookAbsent)), ForgetIntent, ""},
		"a lost answer: seen once":                {edited(deleted(Ambiguous, LookAbsent)), Wait, v1alpha1.ReasonReplacing},
		"a lost answer: seen twice":               {edited(deleted(Ambiguous, LookAbsent), func(f *Facts) { f.AbsentBefore = true }), ForgetIntent, ""},
		"a refusal is the server's word":          {edited(deleted(Rejected, LookNotYet)), Stall, ""},
		"in use: later":                           {edited(deleted(Waiting, LookNotYet)), Wait, ""},
		"reads may lag behind":                    {edited(deleted(Success, LookAbsent), func(f *Facts) { f.Quiet = false }), Wait, v1alpha1.ReasonReplacing},
		"another request may be under way":        {edited(deleted(Success, LookAbsent), func(f *Facts) { f.Fenced = false }), Wait, v1alpha1.ReasonReplacing},
		"the probe must speak for the credential": {edited(deleted(Success, LookAbsent), func(f *Facts) { f.Probe = ProbeNotYet }), CheckProbe, ""},
		"a later pass finds it gone, once":        {edited(func(f *Facts) { f.Replacing, f.Look = true, LookAbsent }), Wait, v1alpha1.ReasonReplacing},
		"and twice, whatever is done when others remove it": {edited(func(f *Facts) {
			f.Replacing, f.Look, f.AbsentBefore, f.Policy.OnMissing = true, LookAbsent, true, v1alpha1.MissingStall
		}), ForgetIntent, ""},
		"the pass ends when it is gone":                      {edited(func(f *Facts) { f.Replaced, f.Record = true, RecordNone }), Wait, v1alpha1.ReasonReplacing},
		"the next one makes it anew":                         {edited(func(f *Facts) { f.Record, f.Look = RecordNone, LookAbsent }), WriteIntent, ""},
		"a deleted custom resource takes it along as always": {edited(func(f *Facts) { f.Deleting, f.Replacing = true, true }), SendDelete, v1alpha1.ReasonDeleting},
	} {
		if got := Next(tc.facts); got.Action != tc.action || got.Reason != tc.reason {
			t.Errorf("%s: got %s %s, want %s %s", name, got.Action, got.Reason, tc.action, tc.reason)
		}
	}
}
