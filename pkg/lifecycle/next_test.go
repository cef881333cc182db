package lifecycle

import (
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// facts gives those of a custom resource under the default policy whose mapping can do everything, changed by each
// function in turn.
func facts(changes ...func(*Facts)) Facts {
	f := Facts{
		Policy: v1alpha1.Policy{
			Adoption: v1alpha1.AdoptNever, Deletion: v1alpha1.DeletionDelete, OnMissing: v1alpha1.MissingRecreate,
			Drift: v1alpha1.DriftCorrect, Management: v1alpha1.ManagementFull,
		},
		Safety: v1alpha1.SafetyMarker, CanCreate: true, CanUpdate: true, CanDelete: true,
		Record: RecordMissing, Look: LookNotYet, Probe: ProbeNotYet,
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func safety(s v1alpha1.CreateSafety, chosen bool) func(*Facts) {
	return func(f *Facts) { f.Safety, f.AllChosen = s, chosen }
}

func record(r RecordState) func(*Facts) {
	return func(f *Facts) { f.Record, f.Finalizer = r, true }
}
func looked(l Look) func(*Facts)       { return func(f *Facts) { f.Look = l } }
func probed(p ProbeState) func(*Facts) { return func(f *Facts) { f.Probe = p } }
func answering(a Answer) func(*Facts)  { return func(f *Facts) { f.Answer = a } }
func confirmed(f *Facts)               { f.Confirmed = true }
func settled(f *Facts)                 { f.Settled = true }
func quiet(f *Facts)                   { f.Quiet = true }
func absentBefore(f *Facts)            { f.AbsentBefore = true }
func fenced(f *Facts)                  { f.Fenced = true }
func deleting(f *Facts)                { f.Deleting = true }
func equal(f *Facts)                   { f.Look, f.Equal, f.AsSent = LookFound, true, true }
func adoptByIdentity(f *Facts)         { f.Policy.Adoption = v1alpha1.AdoptByIdentity }
func observeOnly(f *Facts)             { f.Policy.Management = v1alpha1.ManagementObserveOnly }
func sentIt(s Sent) func(*Facts)       { return func(f *Facts) { f.Sent = &s } }
func unresolved(f *Facts)              { f.Unresolved = true }
func upsert(f *Facts)                  { f.Safety, f.AllChosen = v1alpha1.SafetyUpsert, true }
func uniqueKey(f *Facts)               { f.Safety, f.AllChosen = v1alpha1.SafetyUniqueKey, true }
func nothingToFindBy(f *Facts)         { f.Safety = v1alpha1.SafetyNone }
func createdAs(o Outcome, s Sent) func(*Facts) {
	s.Operation, s.Outcome = rest.Create, o
	return sentIt(s)
}

type nextCase struct {
	facts Facts
	want  Step // Message is not compared
}

func checkNext(t *testing.T, cases map[string]nextCase) {
	t.Helper()
	t.Parallel()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Next(tc.facts)
			if message := got.Message; got.Action == Stall && got.Reason != "" && message == "" {
				t.Error("a stall does not say what a person can do")
			}
			got.Message = ""
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// fruitless: so many updates were accepted without effect.
func fruitless(n int) func(*Facts) { return func(f *Facts) { f.Fruitless = n } }

func stalls(reason string) Step { return Step{Action: Stall, Reason: reason} }
func waits(reason string, d Delay) Step {
	return Step{Action: Wait, Reason: reason, Delay: d}
}
func finishes(reason string) Step { return Step{Action: Finish, Reason: reason} }
func retries(reason string) Step  { return Step{Action: Retry, Reason: reason} }

func TestNextConverges(t *testing.T) {
	checkNext(t, map[string]nextCase{
		"it looks before anything else":                      {facts(), Step{Action: Observe}},
		"a suspended one is left alone":                      {facts(func(f *Facts) { f.Suspended = true }), finishes(v1alpha1.ReasonSuspended)},
		"a failed look changes nothing":                      {facts(looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"two matches are for a person":                       {facts(looked(LookSeveral)), stalls(v1alpha1.ReasonAmbiguousMatch)},
		"a look that is not known is an error":               {facts(looked("New")), retries(v1alpha1.ReasonInternalError)},
		"what is absent is intended first":                   {facts(looked(LookAbsent)), Step{Action: WriteIntent}},
		"what cannot be looked for is intended first":        {facts(nothingToFindBy, looked(LookImpossible)), Step{Action: WriteIntent}},
		"the pass that wrote the intent sends":               {facts(record(RecordCreating), func(f *Facts) { f.Intended = true }), Step{Action: SendCreate}},
		"what is equal is in sync":                           {facts(record(RecordCreated), equal), finishes(v1alpha1.ReasonInSync)},
		"what differs is updated":                            {facts(record(RecordCreated), looked(LookFound)), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"what was just written is waited for":                {facts(record(RecordCreated), looked(LookFound), func(f *Facts) { f.JustWritten = true }), waits(v1alpha1.ReasonUpdating, DelayConsistency)},
		"what has no effect is for a person":                 {facts(record(RecordCreated), looked(LookFound), fruitless(3)), stalls(v1alpha1.ReasonUpdateIneffective)},
		"what may have an effect is sent again":              {facts(record(RecordCreated), looked(LookFound), fruitless(2)), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"what has no effect is sent again after a rest":      {facts(record(RecordCreated), looked(LookFound), fruitless(3), func(f *Facts) { f.Rested = true }), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"what has no effect is sent when a person wants it":  {facts(record(RecordCreated), looked(LookFound), fruitless(3), func(f *Facts) { f.Forced = true }), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"what has no effect is not sent within the window":   {facts(record(RecordCreated), looked(LookFound), fruitless(3), func(f *Facts) { f.JustWritten = true }), stalls(v1alpha1.ReasonUpdateIneffective)},
		"drift may only be reported":                         {facts(record(RecordCreated), looked(LookFound), func(f *Facts) { f.Policy.Drift = v1alpha1.DriftReport }), finishes(v1alpha1.ReasonDriftReported)},
		"without an update a person must act":                {facts(record(RecordCreated), looked(LookFound), func(f *Facts) { f.CanUpdate = false }), stalls(v1alpha1.ReasonImmutableFieldChanged)},
		"an immutable field stalls":                          {facts(record(RecordCreated), equal, func(f *Facts) { f.Immutable = true }), stalls(v1alpha1.ReasonImmutableFieldChanged)},
		"an observer finds":                                  {facts(observeOnly, looked(LookFound)), finishes(v1alpha1.ReasonObserveOnly)},
		"an observer misses":                                 {facts(observeOnly, looked(LookAbsent)), finishes(v1alpha1.ReasonExternalMissing)},
		"another server is not asked":                        {facts(record(RecordCreated), func(f *Facts) { f.EndpointChanged = true }), stalls(v1alpha1.ReasonTargetIdentityChanged)},
		"another name is not made":                           {facts(record(RecordCreating), func(f *Facts) { f.IdentityChanged = true }), stalls(v1alpha1.ReasonTargetIdentityChanged)},
		"another name matters not while nothing is there":    {facts(record(RecordNone), func(f *Facts) { f.IdentityChanged = true }), Step{Action: Observe}},
		"a mapping without create says that it is not there": {facts(looked(LookAbsent), func(f *Facts) { f.CanCreate = false }), stalls(v1alpha1.ReasonExternalMissing)},
	})
}

func TestNextOwnership(t *testing.T) {
	checkNext(t, map[string]nextCase{
		"somebody else's is left alone":             {facts(uniqueKey, equal), stalls(v1alpha1.ReasonNotAdoptable)},
		"it may be taken over":                      {facts(uniqueKey, adoptByIdentity, looked(LookFound)), Step{Action: KeepIdentity}},
		"a marker proves that it is ours":           {facts(looked(LookFound)), Step{Action: KeepIdentity}},
		"a copied manifest owns nothing":            {facts(uniqueKey, record(RecordForeign), equal), stalls(v1alpha1.ReasonNotAdoptable)},
		"nothing is done on a forged word":          {facts(record(RecordForged), answering(AnswerAdopt)), stalls(v1alpha1.ReasonRecordForged)},
		"nothing is done without the key":           {facts(uniqueKey, record(RecordUnverified), equal), stalls(v1alpha1.ReasonRecordUnverified)},
		"nothing is done on a newer operator's":     {facts(record(RecordNewer), looked(LookFound)), stalls(v1alpha1.ReasonRecordNewer)},
		"an observer needs no record":               {facts(observeOnly, record(RecordForged), equal), finishes(v1alpha1.ReasonObserveOnly)},
		"a stripped record proves nothing":          {facts(uniqueKey, record(RecordMissing), equal), stalls(v1alpha1.ReasonRecordLost)},
		"a stripped record with nothing to find by": {facts(nothingToFindBy, record(RecordMissing), looked(LookImpossible)), stalls(v1alpha1.ReasonRecordLost)},
		"a person's word stands for a record":       {facts(nothingToFindBy, record(RecordMissing), looked(LookImpossible), answering(AnswerAbsent)), Step{Action: WriteIntent}},
	})
}

func TestNextBelievesAbsenceLate(t *testing.T) {
	gone := []func(*Facts){record(RecordCreated), confirmed, looked(LookAbsent)}
	with := func(more ...func(*Facts)) Facts { return facts(append(append([]func(*Facts){}, gone...), more...)...) }
	checkNext(t, map[string]nextCase{
		"not inside the window":                    {with(absentBefore, probed(ProbeOK)), waits(v1alpha1.ReasonWaitingForAbsence, DelayConsistency)},
		"not at the first look":                    {with(quiet, probed(ProbeOK)), waits(v1alpha1.ReasonWaitingForAbsence, DelayShort)},
		"not without the probe":                    {with(quiet, absentBefore), Step{Action: CheckProbe}},
		"not when the probe fails":                 {with(quiet, absentBefore, probed(ProbeFailed)), retries(v1alpha1.ReasonProbeFailed)},
		"then it is made again":                    {with(quiet, absentBefore, probed(ProbeOK)), Step{Action: WriteIntent}},
		"also where no probe is declared":          {with(quiet, absentBefore, probed(ProbeNotThere)), Step{Action: WriteIntent}},
		"or a person is asked":                     {with(quiet, absentBefore, probed(ProbeOK), func(f *Facts) { f.Policy.OnMissing = v1alpha1.MissingStall }), stalls(v1alpha1.ReasonExternalMissing)},
		"a name written down first proves nothing": {facts(upsert, record(RecordCreated), looked(LookAbsent)), Step{Action: WriteIntent}},
		"an identity from the server proves that it was there, to a new process too": {
			facts(record(RecordCreated), looked(LookAbsent)), waits(v1alpha1.ReasonWaitingForAbsence, DelayConsistency),
		},
	})
}

func TestNextRecovers(t *testing.T) {
	open := record(RecordCreating)
	assigned := safety(v1alpha1.SafetyUniqueKey, false)
	checkNext(t, map[string]nextCase{
		"an output of the attempt names what was made":     {facts(nothingToFindBy, open, func(f *Facts) { f.Stored = true }), Step{Action: KeepIdentity}},
		"so it does when the answer is due any moment":     {facts(open, func(f *Facts) { f.Stored = true }), Step{Action: KeepIdentity}},
		"and before it is deleted":                         {facts(nothingToFindBy, open, deleting, func(f *Facts) { f.Stored = true }), Step{Action: KeepIdentity}},
		"a marker is searched for once the create is over": {facts(open), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"then it looks":                                {facts(open, settled), Step{Action: Observe}},
		"what is found is kept":                        {facts(open, settled, looked(LookFound)), Step{Action: KeepIdentity}},
		"one listing without it proves nothing":        {facts(open, settled, looked(LookAbsent), probed(ProbeOK)), waits(v1alpha1.ReasonWaitingForAbsence, DelayShort)},
		"what is absent twice is probed":               {facts(open, settled, absentBefore, looked(LookAbsent)), Step{Action: CheckProbe}},
		"what is absent is forgotten":                  {facts(open, settled, absentBefore, looked(LookAbsent), probed(ProbeOK)), Step{Action: ForgetIntent}},
		"a failing probe keeps the record":             {facts(open, settled, absentBefore, looked(LookAbsent), probed(ProbeFailed)), retries(v1alpha1.ReasonProbeFailed)},
		"a failed look keeps the record":               {facts(open, settled, looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"several are for a person":                     {facts(open, settled, looked(LookSeveral)), stalls(v1alpha1.ReasonAmbiguousMatch)},
		"what cannot be searched is for a person":      {facts(open, settled, looked(LookImpossible)), stalls(v1alpha1.ReasonCreateOutcomeUnknown)},
		"a unique key is looked up at once":            {facts(assigned, open), Step{Action: Observe}},
		"and kept at once when it is as sent":          {facts(assigned, open, equal), Step{Action: KeepIdentity}},
		"not when it differs":                          {facts(assigned, open, looked(LookFound)), stalls(v1alpha1.ReasonNotAdoptable)},
		"unless the policy says so":                    {facts(assigned, open, adoptByIdentity, looked(LookFound)), Step{Action: KeepIdentity}},
		"nor when a deletion meets it":                 {facts(assigned, open, deleting, looked(LookFound)), stalls(v1alpha1.ReasonNotAdoptable)},
		"but not sent again before the create is over": {facts(assigned, open, looked(LookAbsent)), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"nothing to find it by is for a person":        {facts(nothingToFindBy, open, settled), stalls(v1alpha1.ReasonCreateOutcomeUnknown)},
		"a person may say that it is not there":        {facts(nothingToFindBy, open, answering(AnswerAbsent)), Step{Action: ForgetIntent}},
		"what a person names is looked at":             {facts(nothingToFindBy, open, answering(AnswerAdopt)), Step{Action: Observe}},
		"and kept":                                     {facts(nothingToFindBy, open, answering(AnswerAdopt), looked(LookFound)), Step{Action: KeepIdentity}},
		"and not when it cannot be seen":               {facts(nothingToFindBy, open, answering(AnswerAdopt), looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"and not when it is not there":                 {facts(nothingToFindBy, open, answering(AnswerAdopt), looked(LookAbsent)), stalls(v1alpha1.ReasonCreateOutcomeUnknown)},
	})
}

func TestNextAfterCreate(t *testing.T) {
	done := createdAs(Success, Sent{Identified: true})
	kept := createdAs(Success, Sent{Identified: true, Kept: true})
	c := record(RecordCreating)
	checkNext(t, map[string]nextCase{
		"the identity is kept first of all":              {facts(c, done, equal), Step{Action: KeepIdentity}},
		"a chosen name is kept already":                  {facts(upsert, record(RecordCreated), done), Step{Action: Observe}},
		"what was made is looked at":                     {facts(c, kept), Step{Action: Observe}},
		"and in sync":                                    {facts(c, kept, equal), finishes(v1alpha1.ReasonInSync)},
		"or differs":                                     {facts(c, kept, looked(LookFound)), retries(v1alpha1.ReasonCreating)},
		"or is not to be seen yet":                       {facts(c, kept, looked(LookAbsent)), waits(v1alpha1.ReasonCreating, DelayConsistency)},
		"or the look fails":                              {facts(c, kept, looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"or there are several":                           {facts(c, kept, looked(LookSeveral)), stalls(v1alpha1.ReasonAmbiguousMatch)},
		"a lost answer waits where a marker is":          {facts(c, createdAs(Ambiguous, Sent{})), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"a lost answer is retried where a key is unique": {facts(uniqueKey, record(RecordCreated), createdAs(Ambiguous, Sent{})), retries(v1alpha1.ReasonCreating)},
		"a lost answer is for a person otherwise":        {facts(nothingToFindBy, c, createdAs(Ambiguous, Sent{})), stalls(v1alpha1.ReasonCreateOutcomeUnknown)},
		"a success without an identity is a lost answer": {facts(c, createdAs(Success, Sent{})), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"a refusal is written down first":                {facts(c, createdAs(Rejected, Sent{})), Step{Action: ForgetIntent}},
		"then it stalls":                                 {facts(record(RecordNone), createdAs(Rejected, Sent{Forgotten: true})), stalls("")},
		"a throttled one waits":                          {facts(record(RecordNone), createdAs(Throttled, Sent{Forgotten: true})), waits("", DelayServer)},
		"what was not sent is retried":                   {facts(record(RecordNone), createdAs(NotSent, Sent{Forgotten: true})), retries("")},
		"a refusal does not wipe out an attempt before":  {facts(upsert, record(RecordCreated), unresolved, createdAs(Throttled, Sent{})), waits("", DelayServer)},
	})
}

func TestNextAfterConflict(t *testing.T) {
	taken := createdAs(Conflict, Sent{})
	c := record(RecordCreated)
	checkNext(t, map[string]nextCase{
		"it looks who has the key":                               {facts(uniqueKey, c, taken), Step{Action: Observe}},
		"what is as specified is ours":                           {facts(uniqueKey, c, taken, equal), Step{Action: KeepIdentity}},
		"what differs is not, and that is written":               {facts(uniqueKey, c, taken, looked(LookFound)), Step{Action: ForgetIntent}},
		"then it says so":                                        {facts(uniqueKey, record(RecordNone), createdAs(Conflict, Sent{Forgotten: true}), looked(LookFound)), stalls(v1alpha1.ReasonNotAdoptable)},
		"it may be taken over":                                   {facts(uniqueKey, c, adoptByIdentity, taken, looked(LookFound)), Step{Action: KeepIdentity}},
		"what an earlier attempt may have made is for a person":  {facts(uniqueKey, c, unresolved, fenced, taken, looked(LookFound)), stalls(v1alpha1.ReasonNotAdoptable)},
		"an upsert that an earlier attempt may have won is ours": {facts(upsert, c, unresolved, taken, looked(LookFound)), Step{Action: KeepIdentity}},
		"what cannot be seen is retried, written down":           {facts(uniqueKey, c, taken, looked(LookAbsent)), Step{Action: ForgetIntent}},
		"several are for a person":                               {facts(uniqueKey, c, taken, looked(LookSeveral)), stalls(v1alpha1.ReasonAmbiguousMatch)},
		"a failed look does not make it ours":                    {facts(uniqueKey, c, taken, looked(LookFailed)), Step{Action: ForgetIntent}},
		"a failed look keeps what may be ours":                   {facts(uniqueKey, c, unresolved, taken, looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"what was kept is verified":                              {facts(uniqueKey, c, createdAs(Conflict, Sent{Kept: true}), equal), finishes(v1alpha1.ReasonInSync)},
		"where no key is unique it is a refusal":                 {facts(record(RecordCreating), taken), Step{Action: ForgetIntent}},
	})
}

// A name that was written down before the create was sent is no proof: somebody else may have taken the key in between, and
// the server's word about it may have been lost.
func TestNextOwnsWhatItHasMade(t *testing.T) {
	open := []func(*Facts){uniqueKey, record(RecordCreated), looked(LookFound)}
	with := func(more ...func(*Facts)) Facts { return facts(append(append([]func(*Facts){}, open...), more...)...) }
	gone := func(f *Facts) { f.Deleting, f.Finalizer = true, true }
	checkNext(t, map[string]nextCase{
		"what differs is for a person":               {with(fenced), stalls(v1alpha1.ReasonNotAdoptable)},
		"what is as sent is ours":                    {with(equal), finishes(v1alpha1.ReasonInSync)},
		"what was confirmed is corrected":            {with(confirmed), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"a person may say that it is ours":           {with(answering(AnswerAdopt)), Step{Action: KeepIdentity}},
		"a person may say that it is not":            {with(answering(AnswerAbsent), fenced), Step{Action: ForgetIntent}},
		"and is heard when no create is under way":   {with(answering(AnswerAbsent)), waits(v1alpha1.ReasonWaitingForSettle, DelayFence)},
		"the policy may say so":                      {with(adoptByIdentity), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"an upsert has replaced it anyway":           {with(upsert), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"an id of the server is proof":               {with(safety(v1alpha1.SafetyUniqueKey, false)), Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}},
		"a deletion leaves what differs":             {with(gone, fenced), stalls(v1alpha1.ReasonNotAdoptable)},
		"a deletion takes what is as sent":           {with(gone, equal), Step{Action: SendDelete, Reason: v1alpha1.ReasonDeleting}},
		"a deletion lets go what is somebody else's": {with(gone, answering(AnswerAbsent), fenced), Step{Action: ForgetIntent}},
	})
}

func TestNextAfterUpdate(t *testing.T) {
	updated := func(o Outcome) func(*Facts) { return sentIt(Sent{Operation: rest.Update, Outcome: o}) }
	c := record(RecordCreated)
	checkNext(t, map[string]nextCase{
		"it is verified":                      {facts(c, updated(Success)), Step{Action: Observe}},
		"it is in sync":                       {facts(c, updated(Success), equal), finishes(v1alpha1.ReasonInSync)},
		"a third one without effect":          {facts(c, updated(Success), looked(LookFound), fruitless(3)), stalls(v1alpha1.ReasonUpdateIneffective)},
		"a lost answer is looked at later":    {facts(c, updated(Ambiguous)), waits(v1alpha1.ReasonUpdating, DelayConsistency)},
		"a conflict is looked at again":       {facts(c, updated(Conflict)), retries("")},
		"what is gone is looked at again":     {facts(c, updated(Absent)), retries("")},
		"a refusal stalls":                    {facts(c, updated(Rejected)), stalls("")},
		"a server that is busy is waited for": {facts(c, updated(Waiting)), waits("", DelayServer)},
		"a delete has no place here":          {facts(c, sentIt(Sent{Operation: rest.Delete, Outcome: Success})), retries(v1alpha1.ReasonInternalError)},
	})
}

func rotate(f *Facts) { f.Rotate = true }

// A new secret is asked for when the object is ours and as specified, and never otherwise.
func TestRotating(t *testing.T) {
	t.Parallel()
	sent := func(o Outcome) func(*Facts) { return sentIt(Sent{Operation: rest.Rotate, Outcome: o}) }
	ours := []func(*Facts){record(RecordCreated), confirmed, rotate}
	with := func(more ...func(*Facts)) Facts { return facts(append(ours, more...)...) }
	for name, tc := range map[string]struct {
		facts Facts
		want  Action
	}{
		"in sync":                 {with(equal), SendRotate},
		"not asked for":           {facts(record(RecordCreated), confirmed, equal), Finish},
		"it differs":              {with(looked(LookFound)), SendUpdate},
		"an update is forced":     {with(equal, func(f *Facts) { f.Forced = true }), SendUpdate},
		"only observed":           {with(equal, observeOnly), Finish},
		"not there":               {with(looked(LookFailed)), Retry},
		"done, not looked at":     {with(sent(Success)), Observe},
		"done, and in sync":       {facts(record(RecordCreated), confirmed, equal, sent(Success)), Finish},
		"its answer was lost":     {with(sent(Ambiguous)), Retry},
		"it changed meanwhile":    {with(sent(Conflict)), Retry},
		"refused":                 {with(sent(Rejected)), Stall},
		"the server is busy":      {with(sent(Throttled)), Wait},
		"the resource is deleted": {with(equal, deleting), SendDelete},
	} {
		if got := Next(tc.facts); got.Action != tc.want {
			t.Errorf("%s: got %+v, want %s", name, got, tc.want)
		}
	}
}
