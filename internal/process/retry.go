package process

import (
	"errors"
	"fmt"
)

// attempts bounds how often a start is tried.
const attempts = 3

// Retry calls start again when a child ended before it was ready. The usual cause is a port that another program took
// between the search for a free one and its use, so start has to choose new ports. Any other error is final.
func Retry[T any](start func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		started, err := start()
		if err == nil {
			return started, nil
		}
		var exit *ExitError
		if attempt == attempts || !errors.As(err, &exit) {
			return started, fmt.Errorf("attempt %d of %d: %w", attempt, attempts, err)
		}
	}
}
