package secrets_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/restmapping/operator/pkg/engine/secrets"
)

// A name that is none must not become a part of a path: the metadata client would follow it into another namespace.
func TestANameThatIsAPathIsNotAskedFor(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "s3cret")
	r := run(t, c, nil)
	for _, name := range []string{"../../team-a/secrets/token", "../token", "..", ".", "", "a/b", "%2e%2e", "Token", "token?x=1", "token\x00", strings.Repeat("a", 300)} {
		before := c.count("get metadata") + c.count("get")
		_, err := r.Get(t.Context(), "team-b", name, "password")
		if missing := (*secrets.NotFoundError)(nil); !errors.As(err, &missing) {
			t.Errorf("%q gave %v", name, err)
		}
		if n := c.count("get metadata") + c.count("get") - before; n != 0 {
			t.Errorf("%q was asked for %d times", name, n)
		}
	}
}
