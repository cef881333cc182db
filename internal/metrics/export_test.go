package metrics

import "time"

// SetClock replaces the clock.
func (m *Meter) SetClock(now func() time.Time) { m.now = now }
