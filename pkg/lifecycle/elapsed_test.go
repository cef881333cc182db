package lifecycle

import (
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestSettleIsTheSumOfAllWaits(t *testing.T) {
	t.Parallel()
	if got := (Timing{Request: time.Second, Slack: 10 * time.Second, Window: 100 * time.Second}).Settle(); got != 111*time.Second {
		t.Errorf("got %s", got)
	}
}

func TestElapsedWithoutKnowledgeIsCareful(t *testing.T) {
	t.Parallel()
	f := Facts{Settled: true, Quiet: true, Fenced: true, Record: RecordCreated, Safety: v1alpha1.SafetyUpsert, AllChosen: true}
	Elapsed{}.Apply(&f)
	if f.Settled || f.Quiet || f.Fenced {
		t.Errorf("got %+v", f)
	}
}

func TestQuietAfterTheWindowOrOnceSeen(t *testing.T) {
	t.Parallel()
	for _, e := range []Elapsed{{Window: true}, {Seen: true}} {
		f := Facts{}
		if e.Apply(&f); !f.Quiet {
			t.Errorf("%+v is not quiet", e)
		}
	}
}

func TestFenced(t *testing.T) {
	t.Parallel()
	upsert := Facts{Safety: v1alpha1.SafetyUpsert, AllChosen: true, Record: RecordCreated, Confirmed: true}
	unique := upsert
	unique.Safety = v1alpha1.SafetyUniqueKey
	marker := Facts{Safety: v1alpha1.SafetyMarker, Record: RecordCreating}
	assigned := Facts{Safety: v1alpha1.SafetyUniqueKey, Record: RecordCreated}
	unconfirmed := upsert
	unconfirmed.Confirmed = false
	for name, tc := range map[string]struct {
		facts Facts
		e     Elapsed
		want  bool
	}{
		"a lost request of this process counts":                         {upsert, Elapsed{Settled: true, Led: true, First: true, Answered: true}, false},
		"a PUT of an earlier process counts, whatever was answered":     {upsert, Elapsed{Settled: true, Answered: true, Closed: true}, false},
		"a POST of an earlier process counts where its key can be free": {unique, Elapsed{Settled: true, Answered: true, Closed: true}, false},
		"a leader of long standing knows":                               {unique, Elapsed{Led: true, Closed: true}, true},
		"the first writer knows":                                        {upsert, Elapsed{First: true, Closed: true}, true},
		"an attempt whose answer is not known is waited for":            {unconfirmed, Elapsed{First: true, Closed: true}, false},
		"an answered attempt is over":                                   {unconfirmed, Elapsed{First: true, Closed: true, Answered: true}, true},
		"a settled attempt is over":                                     {marker, Elapsed{Settled: true, Closed: true}, true},
		"an open attempt is not":                                        {marker, Elapsed{Closed: true}, false},
		"an identity from the server is proof":                          {assigned, Elapsed{Closed: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := tc.facts
			if tc.e.Apply(&f); f.Fenced != tc.want {
				t.Errorf("fenced is %v, want %v", f.Fenced, tc.want)
			}
		})
	}
}

func TestMayBeOutside(t *testing.T) {
	t.Parallel()
	chosen := func(f Facts) Facts { f.AllChosen, f.Safety = true, v1alpha1.SafetyUpsert; return f }
	for name, tc := range map[string]struct {
		facts Facts
		want  bool
	}{
		"a new custom resource has nothing":                      {Facts{Record: RecordMissing}, false},
		"a stripped record proves nothing":                       {Facts{Record: RecordMissing, Finalizer: true}, true},
		"a record of none says so":                               {Facts{Record: RecordNone}, false},
		"somebody else's record is not ours":                     {Facts{Record: RecordForeign}, false},
		"a create under way may make it":                         {Facts{Record: RecordCreating}, true},
		"a name that was written down first":                     {chosen(Facts{Record: RecordCreated, Fenced: true}), true},
		"an object that was there, and a late PUT":               {chosen(Facts{Record: RecordCreated, Confirmed: true}), true},
		"a name that stays ours, whatever one look says":         {chosen(Facts{Record: RecordCreated, Confirmed: true, Fenced: true}), true},
		"an object of the server that was there, and is not now": {Facts{Record: RecordCreated, Confirmed: true, Fenced: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.facts.MayBeOutside(); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
