//go:build cluster

package endpoint

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/restmapping/operator/internal/controlplane"
)

func TestMain(m *testing.M) { os.Exit(withoutLeaks(controlplane.Main(m, controlplane.Options{}))) }

// withoutLeaks fails when goroutines are left. Those of client-go's pooled connections stay by design.
func withoutLeaks(code int) int {
	err := goleak.Find(
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http/internal/http2.(*ClientConn).readLoop"),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
