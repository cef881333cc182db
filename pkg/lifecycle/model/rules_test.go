package model

import (
	"github.com/restmapping/operator/pkg/lifecycle"
)

// rules are the safety rules and the assumptions about the world; true means that it is switched off.
type rules struct {
	noIntent          bool // nothing is recorded before the create
	ambiguousIsFailed bool // a lost answer counts as "not done"
	noSettle          bool // recovery does not wait until the create can no longer take effect
	trustAbsence      bool // not-found is believed inside the consistency window, and at once
	noLock            bool // writes to the custom resource succeed whatever they were based on
	lateFinalizer     bool // the finalizer is added after the create
	errorIsAbsent     bool // a failed read counts as "not there"
	releaseUnknown    bool // the custom resource goes although a create's outcome is unknown
	clientRetries     bool // the HTTP client sends a create again
	noBarrier         bool // the finalizer goes although earlier requests may be under way
	noVerify          bool // an accepted delete counts as done
	noProbe           bool // absence is believed without the probe
	believeForged     bool // a record is believed without its signature
	nameIsProof       bool // what has the key of a create whose answer was lost counts as ours
	mirrorProves      bool // a status that named a former object counts for the next one
	oneListing        bool // a create is taken for undone after one look that does not show its object
	openLooks         bool // looks from before the create was over count
	noDependents      bool // a delete does not wait for those who refer to the object
	unknownIsNobody   bool // who is not known yet does not count
	replaceUnverified bool // an object whose delete was accepted counts as gone, and a new one is made
	replaceUnrecorded bool // the record lets go of the old object when its replacement begins

	// What the waiting times were in the first release: see TestTheBarrierNeedsEachOfItsParts.
	answeredIsFenced bool // an answered create ends the wait for earlier processes
	upsertOnly       bool // earlier processes count for Upsert alone
	tickAfterLook    bool // the times are taken after a look instead of before it
	forgetful        bool // a refused create wipes out that there was one before

	// What holds for a server that does things later.
	unrecordedJob   bool // a job is waited for before it is written down
	vanishedFailed  bool // a job that the server no longer knows counts as failed, with nothing applied
	noDeadline      bool // the settle time knows nothing of how long a job may run
	failedIsNothing bool // a failed job counts as having left nothing
	noEndWindow     bool // the end of a job opens no consistency window

	// What holds for a create that carries an idempotency key.
	resendLate    bool // it is sent again although the server may have forgotten the key
	resendAnother bool // it is sent again as another request
	resendUnnoted bool // it is not written down that it is sent again
	resendNoWait  bool // a create that is sent again does not begin the wait anew
	takesAnothers bool // an object is taken back that another process has kept, or will keep
	refusedIsNone bool // a refused re-send says that nothing was made

	// Assumptions.
	frozen   bool // a process can be frozen between its last check and its send for longer than all waiting times
	flapping bool // a read may again not show what an earlier read has shown, inside the consistency window
}

// bend changes the facts that Next is asked with.
func (r rules) bend(f lifecycle.Facts) lifecycle.Facts {
	if r.noSettle {
		f.Settled = true
	}
	if r.trustAbsence {
		f.Quiet, f.AbsentBefore, f.Probe = true, true, lifecycle.ProbeNotThere
	}
	if r.errorIsAbsent && f.Look == lifecycle.LookFailed {
		f.Look = lifecycle.LookAbsent
	}
	if r.noBarrier {
		f.Fenced = true
	}
	if r.unrecordedJob && f.Sent != nil && f.Sent.Outcome == lifecycle.Accepted {
		f.Sent.Kept = true
	}
	if u := f.Underway; u != nil && r.vanishedFailed && u.Progress == lifecycle.ProgressForgotten {
		u.Progress, u.Outcome, u.Kept = lifecycle.ProgressFailed, lifecycle.Rejected, true
	}
	if u := f.Underway; u != nil && r.failedIsNothing && u.Progress == lifecycle.ProgressFailed && u.Kept {
		f.Look, f.Quiet, f.AbsentBefore, f.Probe = lifecycle.LookAbsent, true, true, lifecycle.ProbeNotThere
	}
	if r.resendLate && f.Key == lifecycle.KeyOver || r.resendAnother && f.Key == lifecycle.KeyOfAnother {
		f.Key = lifecycle.KeyHonoured
	}
	if r.refusedIsNone && f.Sent != nil && f.Sent.Again {
		refusal := *f.Sent
		refusal.Again, f.Sent, f.Unresolved = false, &refusal, false
	}
	if r.noProbe {
		f.Probe = lifecycle.ProbeNotThere
	}
	if r.nameIsProof && f.Look == lifecycle.LookFound {
		f.AsSent = true
	}
	if r.oneListing && f.Record == lifecycle.RecordCreating {
		f.AbsentBefore = true
	}
	if r.noDependents || r.unknownIsNobody && f.Dependents == lifecycle.DependentsUnknown {
		f.Dependents = lifecycle.DependentsNone
	}
	if r.noVerify && f.Sent != nil && f.Sent.Outcome == lifecycle.Success && f.Deleting {
		f.Look, f.Quiet, f.Fenced, f.Probe = lifecycle.LookAbsent, true, true, lifecycle.ProbeNotThere
	}
	if r.replaceUnverified && f.Sent != nil && f.Sent.Outcome == lifecycle.Success && f.Replacing && !f.Deleting {
		f.Look, f.Quiet, f.Fenced, f.Probe = lifecycle.LookAbsent, true, true, lifecycle.ProbeNotThere
	}
	if r.releaseUnknown && f.Deleting && f.Sent == nil && !f.Confirmed &&
		(f.Record == lifecycle.RecordCreating || f.Record == lifecycle.RecordCreated) {
		f.Record, f.Fenced = lifecycle.RecordNone, true
	}
	return f
}
