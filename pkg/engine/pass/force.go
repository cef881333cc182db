package pass

import (
	"context"
	"hash/fnv"

	"github.com/restmapping/operator/pkg/lifecycle"
)

// forced tells that a person asks for an update, and that this request was not granted yet.
func (u *run) forced() bool {
	wish := u.wish()
	return wish != "" && u.record != nil && u.facts.Record == lifecycle.RecordCreated && u.record.Forced != wish
}

// noteForced persists that the request was granted. When the process dies before, the update is sent once more, which does
// no harm: it says the same.
func (u *run) noteForced(ctx context.Context) *lifecycle.Step {
	if !u.facts.Forced {
		return nil
	}
	record := *u.record
	record.Forced = u.wish()
	if err := u.swapRecord(ctx, record); err != nil {
		return u.writeFailed(err)
	}
	u.facts.Forced = false
	return nil
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails (documented by the package)
	return h.Sum64()
}
