package lifecycle

import (
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func TestNextLetsGo(t *testing.T) {
	c := record(RecordCreated)
	checkNext(t, map[string]nextCase{
		"without our finalizer there is nothing to do":     {facts(deleting), finishes(v1alpha1.ReasonDeleting)},
		"an orphan is left":                                {facts(deleting, c, func(f *Facts) { f.Policy.Deletion = v1alpha1.DeletionOrphan }), Step{Action: Release}},
		"an observer deletes nothing":                      {facts(deleting, c, observeOnly), Step{Action: Release}},
		"without a delete operation it is left":            {facts(deleting, c, func(f *Facts) { f.CanDelete = false }), Step{Action: Release}},
		"a copied manifest deletes nothing":                {facts(deleting, record(RecordForeign)), Step{Action: Release}},
		"a record of none lets go":                         {facts(deleting, record(RecordNone)), Step{Action: Release}},
		"suspension does not hold a deletion":              {facts(deleting, record(RecordNone), func(f *Facts) { f.Suspended = true }), Step{Action: Release}},
		"another server is not asked":                      {facts(deleting, c, func(f *Facts) { f.EndpointChanged = true }), stalls(v1alpha1.ReasonTargetIdentityChanged)},
		"an open create at another server is not given up": {facts(deleting, record(RecordCreating), func(f *Facts) { f.EndpointChanged = true }), stalls(v1alpha1.ReasonTargetIdentityChanged)},
	})
}

func TestNextDeletes(t *testing.T) {
	c := record(RecordCreated)
	checkNext(t, map[string]nextCase{
		"what was never seen is looked at first":        {facts(deleting, c), Step{Action: Observe}},
		"what was seen is deleted":                      {facts(deleting, c, confirmed), Step{Action: SendDelete, Reason: v1alpha1.ReasonDeleting}},
		"what is found is deleted":                      {facts(deleting, c, looked(LookFound)), Step{Action: SendDelete, Reason: v1alpha1.ReasonDeleting}},
		"what cannot be looked at is deleted":           {facts(deleting, c, looked(LookImpossible)), Step{Action: SendDelete, Reason: v1alpha1.ReasonDeleting}},
		"a guard is asked first":                        {facts(deleting, c, confirmed, guard(GuardNotYet)), Step{Action: CheckGuard}},
		"an open guard lets it be deleted":              {facts(deleting, c, confirmed, guard(GuardOpen)), Step{Action: SendDelete, Reason: v1alpha1.ReasonDeleting}},
		"what is held waits for a person":               {facts(deleting, c, confirmed, guard(GuardHolds)), stalls(v1alpha1.ReasonDeletionHeld)},
		"what nobody could ask is not deleted":          {facts(deleting, c, confirmed, guard(GuardFailed)), retries(v1alpha1.ReasonDeletionHeld)},
		"what is gone is let go though it is held":      {facts(deleting, c, looked(LookAbsent), absentBefore, quiet, fenced, probed(ProbeOK), guard(GuardHolds)), Step{Action: Release}},
		"an orphan is let go though it is held":         {facts(deleting, c, guard(GuardHolds), func(f *Facts) { f.Policy.Deletion = v1alpha1.DeletionOrphan }), Step{Action: Release}},
		"a failed look deletes nothing":                 {facts(deleting, c, looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"several are for a person":                      {facts(deleting, c, looked(LookSeveral)), stalls(v1alpha1.ReasonAmbiguousMatch)},
		"one absence is not enough":                     {facts(deleting, c, looked(LookAbsent), quiet, fenced), waits(v1alpha1.ReasonWaitingForAbsence, DelayShort)},
		"absence inside the window is not believed":     {facts(deleting, c, looked(LookAbsent), absentBefore, fenced), waits(v1alpha1.ReasonWaitingForAbsence, DelayConsistency)},
		"requests under way are waited for":             {facts(deleting, c, looked(LookAbsent), absentBefore, quiet), waits(v1alpha1.ReasonWaitingForSettle, DelayFence)},
		"the probe must work":                           {facts(deleting, c, looked(LookAbsent), absentBefore, quiet, fenced), Step{Action: CheckProbe}},
		"a failing probe holds it":                      {facts(deleting, c, looked(LookAbsent), absentBefore, quiet, fenced, probed(ProbeFailed)), retries(v1alpha1.ReasonProbeFailed)},
		"then it may go":                                {facts(deleting, c, looked(LookAbsent), absentBefore, quiet, fenced, probed(ProbeOK)), Step{Action: Release}},
		"an open create is recovered first":             {facts(deleting, record(RecordCreating)), waits(v1alpha1.ReasonWaitingForSettle, DelaySettle)},
		"an open create without a way to find it holds": {facts(deleting, nothingToFindBy, record(RecordCreating), settled), stalls(v1alpha1.ReasonCreateOutcomeUnknown)},
	})
}

func guard(g GuardState) func(*Facts) { return func(f *Facts) { f.Guard = g } }

func TestNextAfterDelete(t *testing.T) {
	deleted := func(o Outcome) func(*Facts) { return sentIt(Sent{Operation: rest.Delete, Outcome: o}) }
	c := record(RecordCreated)
	still := waits(v1alpha1.ReasonDeleting, DelayServer)
	checkNext(t, map[string]nextCase{
		"an accepted delete is verified":       {facts(deleting, c, deleted(Success)), Step{Action: Observe}},
		"a lost answer is verified":            {facts(deleting, c, deleted(Ambiguous)), Step{Action: Observe}},
		"what was gone already is verified":    {facts(deleting, c, deleted(Absent)), Step{Action: Observe}},
		"what is still there is waited for":    {facts(deleting, c, deleted(Success), looked(LookFound)), still},
		"what cannot be looked at holds":       {facts(deleting, c, deleted(Success), looked(LookImpossible)), still},
		"a failed look holds":                  {facts(deleting, c, deleted(Success), looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"the server's word and a look are two": {facts(deleting, c, deleted(Success), looked(LookAbsent), quiet, fenced, probed(ProbeNotThere)), Step{Action: Release}},
		"a lost answer needs two looks":        {facts(deleting, c, deleted(Ambiguous), looked(LookAbsent), quiet, fenced, probed(ProbeOK)), waits(v1alpha1.ReasonWaitingForAbsence, DelayShort)},
		"a late request holds the finalizer":   {facts(deleting, c, deleted(Success), looked(LookAbsent), quiet), waits(v1alpha1.ReasonWaitingForSettle, DelayFence)},
		"the window holds the finalizer":       {facts(deleting, c, deleted(Success), looked(LookAbsent), fenced), waits(v1alpha1.ReasonWaitingForAbsence, DelayConsistency)},
		"in use is waited for":                 {facts(deleting, c, deleted(Waiting)), waits("", DelayServer)},
		"a conflict is waited for":             {facts(deleting, c, deleted(Conflict)), waits("", DelayServer)},
		"a refusal is for a person":            {facts(deleting, c, deleted(Rejected)), stalls("")},
		"a refused credential is tried again":  {facts(deleting, c, deleted(Unauthorized)), retries("")},
	})
}

func TestNextAfterADeleteThatFailedLater(t *testing.T) {
	failed := func(o Outcome) func(*Facts) { return sentIt(Sent{Operation: rest.Delete, Outcome: o, Earlier: true}) }
	c, failedLater := record(RecordCreated), failed(Failed)
	checkNext(t, map[string]nextCase{
		"what failed later is looked at":           {facts(deleting, c, confirmed, failedLater), Step{Action: Observe}},
		"what is there is deleted again":           {facts(deleting, c, confirmed, failedLater, looked(LookFound)), retries("")},
		"it failed because there is nothing":       {facts(deleting, c, confirmed, failedLater, looked(LookAbsent)), waits(v1alpha1.ReasonWaitingForAbsence, DelayShort)},
		"which is seen twice":                      {facts(deleting, c, confirmed, failedLater, looked(LookAbsent), absentBefore, quiet, fenced, probed(ProbeOK)), Step{Action: Release}},
		"what failed and cannot be looked at":      {facts(deleting, c, confirmed, failedLater, looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"what failed and nothing can be looked by": {facts(deleting, c, confirmed, failedLater, looked(LookImpossible)), retries("")},
		"what is in use is waited for":             {facts(deleting, c, confirmed, failed(Conflict), looked(LookFound)), waits("", DelayServer)},
		"and may be gone as well":                  {facts(deleting, c, confirmed, failed(Conflict)), Step{Action: Observe}},
		"what was rejected is looked at too":       {facts(deleting, c, confirmed, failed(Rejected)), Step{Action: Observe}},
	})
}

func TestNextDeletesNothingOnAWordThatIsNotBelieved(t *testing.T) {
	orphan := func(f *Facts) { f.Policy.Deletion = v1alpha1.DeletionOrphan }
	checkNext(t, map[string]nextCase{
		"an edited record deletes nothing":        {facts(deleting, record(RecordForged), confirmed), stalls(v1alpha1.ReasonRecordForged)},
		"nor one that cannot be verified":         {facts(deleting, record(RecordUnverified), confirmed, answering(AnswerAbsent)), stalls(v1alpha1.ReasonRecordUnverified)},
		"nor one of a newer operator":             {facts(deleting, record(RecordNewer), looked(LookFound)), stalls(v1alpha1.ReasonRecordNewer)},
		"nor with a marker":                       {facts(deleting, record(RecordForged), looked(LookFound)), stalls(v1alpha1.ReasonRecordForged)},
		"what is to be left lets go all the same": {facts(deleting, record(RecordForged), orphan), Step{Action: Release}},
	})
}

func TestNextDeletesWithoutARecord(t *testing.T) {
	stripped := record(RecordMissing)
	checkNext(t, map[string]nextCase{
		"it looks":                               {facts(deleting, stripped), Step{Action: Observe}},
		"a marker proves that it is ours":        {facts(deleting, stripped, looked(LookFound)), Step{Action: KeepIdentity}},
		"adoption takes it":                      {facts(deleting, uniqueKey, stripped, adoptByIdentity, looked(LookFound)), Step{Action: KeepIdentity}},
		"what may be somebody else's is left":    {facts(deleting, uniqueKey, stripped, looked(LookFound)), stalls(v1alpha1.ReasonRecordLost)},
		"what cannot be found is for a person":   {facts(deleting, nothingToFindBy, stripped, looked(LookImpossible)), stalls(v1alpha1.ReasonRecordLost)},
		"a failed look holds":                    {facts(deleting, stripped, looked(LookFailed)), retries(v1alpha1.ReasonObservationFailed)},
		"absence is believed outside the window": {facts(deleting, stripped, looked(LookAbsent)), waits(v1alpha1.ReasonWaitingForAbsence, DelayConsistency)},
		"then it may go":                         {facts(deleting, stripped, looked(LookAbsent), quiet, fenced, probed(ProbeNotThere)), Step{Action: Release}},
	})
}

func TestNextWaitsForDependents(t *testing.T) {
	c := record(RecordCreated)
	exist := func(f *Facts) { f.Dependents = DependentsExist }
	unknown := func(f *Facts) { f.Dependents = DependentsUnknown }
	held := waits(v1alpha1.ReasonWaitingForDependents, DelayEvent)
	checkNext(t, map[string]nextCase{
		"what others refer to is not deleted":             {facts(deleting, c, confirmed, exist), held},
		"nor while it is not known who refers to it":      {facts(deleting, c, confirmed, unknown), held},
		"it is not even looked at":                        {facts(deleting, c, exist), held},
		"nor let go because it is gone outside":           {facts(deleting, c, looked(LookAbsent), absentBefore, quiet, fenced, probed(ProbeOK), exist), held},
		"an open create is recovered all the same":        {facts(deleting, record(RecordCreating), settled, exist), Step{Action: Observe}},
		"nothing of ours outside holds nobody back":       {facts(deleting, record(RecordNone), exist), Step{Action: Release}},
		"an orphan is left outside, and holds nobody":     {facts(deleting, c, exist, func(f *Facts) { f.Policy.Deletion = v1alpha1.DeletionOrphan }), Step{Action: Release}},
		"another server is said first":                    {facts(deleting, c, exist, func(f *Facts) { f.EndpointChanged = true }), stalls(v1alpha1.ReasonTargetIdentityChanged)},
		"a delete that was sent is verified all the same": {facts(deleting, c, exist, sentIt(Sent{Operation: rest.Delete, Outcome: Success})), Step{Action: Observe}},
		"what is not being deleted goes on":               {facts(c, exist), Step{Action: Observe}},
	})
}
