package celrules

import (
	"sync/atomic"
)

// Budget is what the evaluations of one pass may cost together. Its zero value is spent.
type Budget struct {
	left atomic.Int64
}

// NewBudget gives a budget of the given cost; 0 means DefaultBudget.
func NewBudget(limit uint64) *Budget {
	if limit == 0 {
		limit = DefaultBudget
	}
	b := &Budget{}
	b.left.Store(int64(min(limit, 1<<62)))
	return b
}

// Left says how much may still be spent.
func (b *Budget) Left() uint64 {
	return uint64(max(0, b.left.Load()))
}

// charge takes the cost of one evaluation, and says whether there was enough. A nil budget never ends: the limit of
// the single expression still holds.
func (b *Budget) charge(cost uint64) bool {
	if b == nil {
		return true
	}
	return b.left.Add(-int64(min(cost, 1<<62))) >= 0
}

// spent says that nothing is left, so that an evaluation need not be started.
func (b *Budget) spent() bool {
	return b != nil && b.left.Load() <= 0
}
