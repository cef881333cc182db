package celrules

import (
	"sync/atomic"
)

// Budget is what the evaluations of one pass may cost together. Its zero value is spent.
type Budget struct {
	limit    int64
	left     atomic.Int64
	failures atomic.Int64
}

// NewBudget gives a budget of the given cost; 0 means DefaultBudget.
func NewBudget(limit uint64) *Budget {
	if limit == 0 {
		limit = DefaultBudget
	}
	b := &Budget{limit: int64(min(limit, 1<<62))}
	b.left.Store(b.limit)
	return b
}

// Spent says how much was spent, which may be a little more than there was.
func (b *Budget) Spent() uint64 {
	return uint64(max(0, b.limit-b.left.Load()))
}

// Failures says how many evaluations gave an error.
func (b *Budget) Failures() int {
	return int(b.failures.Load())
}

// fail counts an evaluation that gave an error.
func (b *Budget) fail() {
	if b != nil {
		b.failures.Add(1)
	}
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
