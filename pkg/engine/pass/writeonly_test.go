package pass_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// A Secret that was changed while no operator ran is sent by the next one, once, and what was not changed is not sent.
func TestAWriteOnlyValueThatChangedWhileNobodyWatched(t *testing.T) {
	t.Parallel()
	b := newSecretBench(t)
	b.create("one", withPassword)
	b.look("one")
	b.happened("GET /things/one", "write record=Created +finalizer", "PUT /things/one", "GET /things/one", "status True Available")
	text := b.recordText("one")
	b.restart()
	b.advance(settleTime)
	b.look("one")
	b.happened("GET /things/one")
	b.restart()
	b.advance(settleTime)
	b.vault.set("team/login/word", "correct horse")
	b.look("one")
	b.happened("GET /things/one", "PUT /things/one", "GET /things/one", "swap record=Created")
	if got, _ := b.server.Get("/things/one"); got.Fields["password"] != "correct horse" {
		b.Errorf("the password outside is %v", got.Fields["password"])
	}
	b.restart()
	b.advance(settleTime)
	b.look("one")
	b.happened("GET /things/one")
	for _, record := range []string{text, b.recordText("one")} {
		if strings.Contains(record, "hunter2") || strings.Contains(record, "horse") || !strings.Contains(record, `"values":"`) {
			b.Errorf("the record is %s", record)
		}
	}
}

// What was refused is not what the server has.
func TestAWriteOnlyValueThatWasRefusedIsNotWrittenDown(t *testing.T) {
	t.Parallel()
	b := newSecretBench(t)
	b.settled("one", withPassword)
	before := b.recordText("one")
	b.vault.set("team/login/word", "correct horse")
	b.server.fault(http.MethodPut, restfake.Reply(422, "application/json", "{}"))
	b.advance(time.Hour)
	b.look("one")
	if after := b.recordText("one"); after != before {
		b.Errorf("the record was written: %s", after)
	}
	b.restart()
	b.advance(settleTime)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	if got, _ := b.server.Get("/things/one"); got.Fields["password"] != "correct horse" {
		b.Errorf("the password outside is %v", got.Fields["password"])
	}
}

// A hash that was made with a key that is lost says nothing, so nothing is sent for it.
func TestAHashOfALostKeyIsNoChange(t *testing.T) {
	t.Parallel()
	b := newSecretBench(t)
	b.settled("one", withPassword)
	b.keys.ring = newRing(t, "b", b.keys.ring.Signing())
	b.restart()
	b.advance(settleTime)
	b.look("one")
	b.happened("write record=Created", "GET /things/one")
}

// An update that the server does later may be followed to its end by another process than the one that sent it. That one
// knows from the record which values the server has now.
func TestAWriteOnlyValueOfAnUpdateThatAnotherProcessFollows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		meanwhile, want string
		sent            []string
	}{
		"is not sent again":               {"correct horse", "correct horse", nil},
		"is sent again when it changed":   {"staple", "staple", []string{"PUT /things/one"}},
		"is sent again when it went back": {"hunter2", "hunter2", []string{"PUT /things/one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			things := secretThings()
			things.Later = &restfake.Later{Polls: 2}
			b := newBench(t, followed(secretMapping), things)
			b.vault.set("team/login/word", "hunter2")
			b.create("one", withPassword)
			b.follow("one", b.ready("one"))
			b.vault.set("team/login/word", "correct horse")
			b.advance(time.Hour)
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReconciling, "True WaitingForOperation")
			b.restart()
			b.advance(settleTime)
			b.vault.set("team/login/word", tc.meanwhile)
			b.journal.take()
			b.follow("one", b.ready("one"))
			if got, _ := b.server.Get("/things/one"); got.Fields["password"] != tc.want {
				b.Errorf("the password outside is %v", got.Fields["password"])
			}
			b.restart()
			b.advance(settleTime)
			b.look("one")
			var sent []string
			for _, line := range b.journal.take() {
				if strings.HasPrefix(line, "PUT") {
					sent = append(sent, line)
				}
			}
			if diff := cmp.Diff(tc.sent, sent); diff != "" {
				b.Error(diff)
			}
		})
	}
}
