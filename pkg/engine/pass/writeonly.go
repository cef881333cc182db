package pass

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// writeOnlyPath stands in messages for fields that are never read back.
const writeOnlyPath = "write-only values"

// newHashKey gives the key of one process.
func newHashKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails (documented by the package)
	return key
}

// compareWriteOnly finds out whether values that cannot be read back have changed since they were sent. What was sent last
// is known from this process's memory, or from the record, where a hash stands that only the installation's key can make.
// Where nothing is known (an object that was taken over, a record of an earlier version) they are taken for unchanged.
func (u *run) compareWriteOnly(ctx context.Context) *lifecycle.Step {
	if u.facts.Deleting || !u.program.HasWriteOnly() {
		return nil
	}
	values, err := u.pass.WriteOnlyValues(ctx)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	u.values, u.writeOnly = values, u.ring.HashValues(u.subject(), values)
	if u.mem.writeOnly == "" && u.facts.Record == lifecycle.RecordCreated {
		u.mem.writeOnly = u.record.Values
	}
	same, known := u.ring.SameValues(u.mem.writeOnly, u.subject(), values)
	if !known {
		u.mem.writeOnly = u.writeOnly
	}
	u.secretChanged = known && !same
	return nil
}

// keepWriteOnly notes that the server has these values now.
func (u *run) keepWriteOnly(op rest.Operation) {
	if op == rest.Create || op == rest.Update {
		u.mem.writeOnly, u.secretChanged, u.given = u.writeOnly, false, true
	}
}

// serverHas notes that an operation is done which has carried the values of this hash; empty where it is not known, or has
// carried none. They may be those of before a change that was made since.
func (u *run) serverHas(hash string) {
	if hash == "" {
		return
	}
	same, known := u.ring.SameValues(hash, u.subject(), u.values)
	u.mem.writeOnly = hash
	u.secretChanged, u.given = known && !same, known && same
}

// untoldValues tells that the server was given values in this pass which the record does not tell of.
func (u *run) untoldValues() bool { return u.given && u.writeOnly != u.record.Values }
