//go:build crash

package crash_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// later is how the operations of restfake are followed. The deadline is the shortest there is.
const later = `async: {interval: 500ms, deadline: 10s, done: operation.body.status == 'Success', failed: operation.body.status == 'Failure', message: operation.body.error}`

// laterClasses are the classes at servers that only accept changes, make them a while after, and forget that they did.
func laterClasses() []class {
	return derived("later", func(c *class) {
		for _, operation := range []string{"create: {", "update: {", "delete: {"} {
			c.mapping = strings.ReplaceAll(c.mapping, operation, operation+later+", ")
		}
		c.mapping = strings.ReplaceAll(c.mapping, "assigned: response.body.id", "assigned: 'operation.body.?resource.?id.orValue(operation.body.?id)'")
		c.collection.Later = &restfake.Later{After: 700 * time.Millisecond, ForgetAfter: 20 * time.Second}
		if c.marked {
			c.collection.Later.ForgetAfter = 100 * time.Millisecond // forgotten before it is asked about
		}
	})
}

// laterPoints are the points that only an operation which is done later passes.
func laterPoints() []point {
	changes := []operation{creating, updating, deleting}
	return []point{
		{"after-accept-before-record", slices.Concat(changes, []operation{deletedWhileCreating})},
		{"after-operation-record", changes},
		{"during-poll", slices.Concat(changes, []operation{deletedWhileCreating})},
		{"after-poll-before-record", changes},
	}
}

// TestKilledAtEveryPointOfAnOperation is TestKilledAtEveryPoint for servers that do everything later.
func TestKilledAtEveryPointOfAnOperation(t *testing.T) {
	about(t, laterClasses)
	killAt(t, "killed at every point of an operation", laterPoints())
}
