package pass

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// writeOnlyPath stands in messages for fields that are never read back.
const writeOnlyPath = "write-only values"

// newHashKey gives the key of one process. The hashes live in memory alone, so that no short password can be guessed
// from what is stored; the price is that a change made while no operator ran is not seen.
func newHashKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails (documented by the package)
	return key
}

// compareWriteOnly finds out whether values that cannot be read back have changed since they were sent.
func (u *run) compareWriteOnly(ctx context.Context) *lifecycle.Step {
	if u.facts.Deleting || !u.program.HasWriteOnly() {
		return nil
	}
	values, err := u.pass.WriteOnlyValues(ctx)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	mac := hmac.New(sha256.New, u.hashKey)
	mac.Write(values)
	mac.Sum(u.writeOnly[:0])
	if u.mem.writeOnly == ([sha256.Size]byte{}) {
		u.mem.writeOnly = u.writeOnly
	}
	u.secretChanged = u.mem.writeOnly != u.writeOnly
	return nil
}

// keepWriteOnly notes that the server has these values now.
func (u *run) keepWriteOnly(op rest.Operation) {
	if op == rest.Create || op == rest.Update {
		u.mem.writeOnly, u.secretChanged = u.writeOnly, false
	}
}
