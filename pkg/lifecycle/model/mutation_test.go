package model

import (
	"slices"
	"strings"
)

// mutant is the design without one of its rules.
type mutant struct {
	// of is the family that cannot do without it.
	of   string
	name string
	off  rules
	// want is what must come of it, in the order of the family's classes.
	want []string
}

// mutants gives the rules, and what the model finds without each. It is the first thing that goes wrong: where an object
// can be doubled and can be left behind, the shorter way counts. Some cells are worse than those of a design that looks
// again before it lets a custom resource go that has nothing recorded: here a record of None is trusted, because every
// create writes its intent first, so that losing an intent or taking a lost answer for a failure leaves an object in
// each class. Some are better: without anything to find the object by (None), nothing is concluded from waiting, and a
// person is asked long after the create.
//
// The last two rows of what is done at once are no rules. They are what is assumed of the world: that a process which was
// frozen for longer than its lease does not go on for ever, and that reads do not stop showing what they have shown.
func mutants() []mutant {
	return []mutant{
		{"done at once", "no intent record", rules{noIntent: true}, []string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"done at once", "ambiguous treated as failed", rules{ambiguousIsFailed: true}, each("leak")},
		{"done at once", "recover without settle", rules{noSettle: true}, []string{"ok", "ok", "leak", "leak", "ok"}},
		{"done at once", "absence trusted inside the window", rules{trustAbsence: true}, each("leak")},
		{"done at once", "no optimistic lock", rules{noLock: true}, []string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"done at once", "finalizer after create", rules{lateFinalizer: true}, each("leak")},
		{"done at once", "read error is absence", rules{errorIsAbsent: true}, []string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"done at once", "finalise while create unknown", rules{releaseUnknown: true}, each("leak")},
		{"done at once", "client retries the create", rules{clientRetries: true}, []string{"ok", "leak", "leak", "duplicate", "duplicate"}},
		{"done at once", "no barrier", rules{noBarrier: true}, []string{"leak", "leak", "ok", "ok", "ok"}},
		{"done at once", "no look after the delete", rules{noVerify: true}, each("leak")},
		{"done at once", "no probe", rules{noProbe: true}, []string{"leak", "leak", "leak", "leak", "duplicate"}},
		{"done at once", "an answered create ends the barrier", rules{answeredIsFenced: true}, []string{"leak", "leak", "ok", "ok", "ok"}},
		{"done at once", "barrier for Upsert alone", rules{upsertOnly: true}, []string{"ok", "leak", "ok", "ok", "ok"}},
		{"done at once", "a refusal wipes out the attempt before", rules{forgetful: true}, []string{"leak", "leak", "ok", "ok", "ok"}},
		{"done at once", "times taken after the look", rules{tickAfterLook: true}, each("leak")},
		{"done at once", "a forged record is believed", rules{believeForged: true}, each("stranger")},
		{"done at once", "a name is proof", rules{nameIsProof: true}, []string{"ok", "stranger", "stranger", "ok", "ok"}},
		{"done at once", "a former status is proof", rules{mirrorProves: true}, []string{"ok", "stranger", "ok", "ok", "ok"}},
		{"done at once", "one listing is enough to recover", rules{oneListing: true}, []string{"ok", "ok", "leak", "leak", "ok"}},
		{"done at once", "looks from before the create is over", rules{openLooks: true}, []string{"ok", "ok", "leak", "ok", "ok"}},
		{"done at once", "a process frozen without bound", rules{frozen: true}, []string{"leak", "leak", "leak", "leak", "ok"}},
		{"done at once", "reads are not monotone", rules{flapping: true}, []string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"known by a key", "sent again after the window", rules{resendLate: true}, []string{"duplicate", "duplicate"}},
		{"known by a key", "sent again as another request", rules{resendAnother: true}, []string{"duplicate", "duplicate"}},
		{"known by a key", "sent again and not written down", rules{resendUnnoted: true}, []string{"leak", "leak"}},
		{"known by a key", "sent again without a new wait", rules{resendNoWait: true}, []string{"ok", "leak"}},
		{"known by a key", "a refused key is a refused create", rules{refusedIsNone: true}, []string{"leak", "leak"}},
		{"known by a key", "another's object is taken back", rules{takesAnothers: true}, []string{"taken", "taken"}},
		{"done later", "a job is waited for before it is written down", rules{unrecordedJob: true}, each("unrecorded")},
		{"done later", "a vanished job counts as failed", rules{vanishedFailed: true}, each("leak")},
		{"done later", "settled without the deadline", rules{noDeadline: true}, []string{"leak", "leak", "leak", "leak", "ok"}},
		{"done later", "a failed job left nothing", rules{failedIsNothing: true}, each("leak")},
		{"done later", "the end of a job opens no window", rules{noEndWindow: true}, []string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"replaced", "a replaced object's delete is not verified", rules{replaceUnverified: true}, []string{"leak", "leak", "leak", "leak", "duplicate"}},
		{"replaced", "the record lets go of what is being replaced", rules{replaceUnrecorded: true}, each("leak")},
		{"referred to", "a delete does not wait for those who refer to it", rules{noDependents: true}, each("orphaned")},
		{"referred to", "who is not known yet refers to nothing", rules{unknownIsNobody: true}, each("orphaned")},
	}
}

// each is the same for every class.
func each(found string) []string { return slices.Repeat([]string{found}, len(classes())) }

// violations explores every class of a family without a rule, each until something is wrong.
func (f family) violations(off rules) (found, traces []string) {
	for _, c := range f.classes {
		r := f.firstViolation(c, off)
		found, traces = append(found, r.bad.String()), append(traces, strings.Join(r.trace, "\n\t"))
	}
	return found, traces
}

func (f family) firstViolation(c class, off rules) report {
	for _, name := range f.names() {
		if r := exploreFrom(c, off, f.begin[name], stateLimit); r.bad != fine {
			return r
		}
	}
	return report{}
}
