package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/restmapping/operator/api/v1alpha1"
)

func keyed(k KeyState) func(*Facts) { return func(f *Facts) { f.Key = k } }

func resentAs(o Outcome, s Sent) func(*Facts) {
	s.Again = true
	return func(f *Facts) {
		f.Unresolved = true
		createdAs(o, s)(f)
	}
}

func TestNextSendsACreateAgainWithItsKey(t *testing.T) {
	lost := record(RecordCreating)
	resend := Step{Action: ResendCreate, Reason: v1alpha1.ReasonCreating}
	observe := Step{Action: Observe}
	asks := stalls(v1alpha1.ReasonCreateOutcomeUnknown)
	checkNext(t, map[string]nextCase{
		"a lost answer is asked for again":            {facts(nothingToFindBy, keyed(KeyNotYet), createdAs(Ambiguous, Sent{})), retries(v1alpha1.ReasonCreating)},
		"also where the object could be searched for": {facts(keyed(KeyNotYet), createdAs(Ambiguous, Sent{})), retries(v1alpha1.ReasonCreating)},
		"the key is looked at":                        {facts(nothingToFindBy, lost, keyed(KeyNotYet)), Step{Action: CheckKey}},
		"then it is sent again":                       {facts(nothingToFindBy, lost, keyed(KeyHonoured)), resend},
		"before the mark is searched for":             {facts(lost, keyed(KeyHonoured)), resend},
		"a forgotten key asks a person":               {facts(nothingToFindBy, lost, keyed(KeyOver)), asks},
		"so does another request":                     {facts(nothingToFindBy, lost, keyed(KeyOfAnother)), asks},
		"so does a refused one":                       {facts(nothingToFindBy, lost, keyed(KeyRefused)), asks},
		"a forgotten key is waited for with a mark":   {facts(lost, keyed(KeyOver)), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"then the mark is searched for":               {facts(lost, keyed(KeyOver), settled), observe},
		"an output tells more":                        {facts(nothingToFindBy, lost, keyed(KeyHonoured), func(f *Facts) { f.Stored = true }), Step{Action: KeepIdentity}},
		"a person's word comes first":                 {facts(nothingToFindBy, lost, keyed(KeyHonoured), answering(AnswerAbsent)), Step{Action: ForgetIntent}},
		"an operation is followed instead":            {facts(nothingToFindBy, lost, keyed(KeyHonoured), func(f *Facts) { f.Underway = &Underway{Operation: "Create", Progress: ProgressForgotten} }), observe},
		"an observer sends nothing":                   {facts(nothingToFindBy, lost, keyed(KeyHonoured), observeOnly), asks},
		"nor does a mapping without create":           {facts(nothingToFindBy, lost, keyed(KeyHonoured), func(f *Facts) { f.CanCreate = false }), asks},
		"a deletion learns by it what was made":       {facts(nothingToFindBy, lost, keyed(KeyHonoured), deleting), resend},
		"a deletion searches for a mark":              {facts(lost, keyed(KeyHonoured), deleting), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
	})
}

func TestNextAfterACreateThatWasSentAgain(t *testing.T) {
	lost := record(RecordCreating)
	known := Sent{Identified: true}
	kept := Sent{Identified: true, Kept: true}
	forget := Step{Action: ForgetIntent}
	checkNext(t, map[string]nextCase{
		"a success names the object":       {facts(nothingToFindBy, lost, resentAs(Success, known)), Step{Action: KeepIdentity}},
		"it is looked at":                  {facts(nothingToFindBy, record(RecordCreated), resentAs(Success, kept)), Step{Action: Observe}},
		"a deletion goes on from there":    {facts(nothingToFindBy, record(RecordCreated), deleting, resentAs(Success, kept)), waits(v1alpha1.ReasonDeleting, DelayNone)},
		"a success without identity":       {facts(nothingToFindBy, lost, resentAs(Success, Sent{})), retries(v1alpha1.ReasonCreating)},
		"a lost answer is no end":          {facts(nothingToFindBy, lost, resentAs(Ambiguous, Sent{})), retries(v1alpha1.ReasonCreating)},
		"a key in use is no refusal":       {facts(nothingToFindBy, lost, resentAs(Conflict, Sent{})), retries(v1alpha1.ReasonConflict)},
		"a refused key asks a person":      {facts(nothingToFindBy, lost, resentAs(Rejected, Sent{})), stalls(v1alpha1.ReasonCreateOutcomeUnknown)},
		"a refused key with a mark waits":  {facts(lost, resentAs(Rejected, Sent{})), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"a refused credential forgets not": {facts(nothingToFindBy, lost, resentAs(Unauthorized, Sent{})), retries("")},
		"nor does a busy server":           {facts(nothingToFindBy, lost, resentAs(Throttled, Sent{})), waits("", DelayServer)},
		"nor what never left":              {facts(nothingToFindBy, lost, resentAs(NotSent, Sent{})), retries("")},
		"an operation is written down":     {facts(nothingToFindBy, lost, resentAs(Accepted, Sent{})), Step{Action: KeepOperation}},
		"the first create does forget":     {facts(nothingToFindBy, lost, keyed(KeyNotYet), createdAs(Rejected, Sent{})), forget},
	})
}

func TestAnIdempotencyKeyIsOfOneAttempt(t *testing.T) {
	t.Parallel()
	first := IdempotencyKey("uid-1", "abc")
	if first != IdempotencyKey("uid-1", "abc") {
		t.Error("the same attempt has two keys")
	}
	if first == IdempotencyKey("uid-1", "abd") || first == IdempotencyKey("uid-2", "abc") {
		t.Error("another attempt has the same key")
	}
	parsed, err := uuid.Parse(first)
	if err != nil || parsed.Version() != 4 || parsed.Variant() != uuid.RFC4122 {
		t.Errorf("%s is no UUID of version 4: %v", first, err)
	}
	const want = "fb446300-b77c-45b1-a0e9-f8f916837c38" // what an earlier operator has sent must be sent again by a later one
	if got := IdempotencyKey("0b8f8d52-1f43-4f6e-9a39-6d2f6a0f8a11", "3f9c1d20"); got != want {
		t.Errorf("the key of an attempt has changed, and a create would be sent again with another: %s, want %s", got, want)
	}
}

func TestHowLongAKeyIsLeft(t *testing.T) {
	t.Parallel()
	timing := Timing{Request: 30 * time.Second, Slack: 20 * time.Second, Window: 10 * time.Second}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct{ age, want time.Duration }{
		"just intended":         {0, time.Hour - v1alpha1.MaxClockSkew - 50*time.Second},
		"later":                 {10 * time.Minute, 50*time.Minute - v1alpha1.MaxClockSkew - 50*time.Second},
		"over":                  {time.Hour, -v1alpha1.MaxClockSkew - 50*time.Second},
		"a clock that is ahead": {-v1alpha1.MaxClockSkew, time.Hour - 50*time.Second},
		"a clock that is wrong": {-v1alpha1.MaxClockSkew - time.Second, 0},
	} {
		if got := timing.KeyLeft(now.Add(-tc.age), time.Hour, now); got != tc.want {
			t.Errorf("%s: %s is left, want %s", name, got, tc.want)
		}
	}
}
