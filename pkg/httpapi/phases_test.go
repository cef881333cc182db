package httpapi

import (
	"compress/gzip"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

func TestPartsOfARequestAreBounded(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		given Timeouts
		whole time.Duration
		want  Timeouts
	}{
		"by default":         {Timeouts{}, time.Minute, Timeouts{10 * time.Second, 10 * time.Second, 0}},
		"by a short whole":   {Timeouts{}, time.Second, Timeouts{time.Second, time.Second, 0}},
		"each by its own":    {Timeouts{time.Second, 2 * time.Second, 3 * time.Second}, time.Minute, Timeouts{time.Second, 2 * time.Second, 3 * time.Second}},
		"never by more":      {Timeouts{time.Hour, time.Hour, time.Hour}, time.Second, Timeouts{time.Second, time.Second, 0}},
		"also above 10s":     {Timeouts{Connect: 20 * time.Second}, time.Minute, Timeouts{20 * time.Second, 10 * time.Second, 0}},
		"a negative is none": {Timeouts{Connect: -1}, time.Minute, Timeouts{10 * time.Second, 10 * time.Second, 0}},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, tc.given.within(tc.whole)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// silentListener takes connections and says nothing.
func silentListener(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var open []net.Conn
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open = append(open, conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	return listener.Addr().String()
}

func TestAHandshakeThatHangsSentNothing(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: "https://" + silentListener(t), Timeouts: Timeouts{TLSHandshake: 50 * time.Millisecond}})
	start := time.Now()
	wantFailure(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), rest.NotSent, "not sent")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestHeadersThatDoNotComeAreATimeout(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: "http://" + silentListener(t), Timeouts: Timeouts{ResponseHeader: 50 * time.Millisecond}})
	start := time.Now()
	wantFailure(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), rest.TimedOut)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestHeadersWithoutEndAreCut(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			w.Header().Add("X-Long", strings.Repeat("a", 1024))
		}
	})})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.Broken, "64 KiB")
}

// A body that comes a byte at a time ends at the timeout, and one without an end at the limit.
func TestBodiesWithoutEnd(t *testing.T) {
	t.Parallel()
	drip := func(size int, pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, size)); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
			}
		}
	}
	slow := connect(t, Config{BaseURL: serve(t, drip(1, 10*time.Millisecond)), Timeout: 200 * time.Millisecond})
	start := time.Now()
	wantFailure(t, slow.Do(t.Context(), get("/x")), rest.TimedOut, "200ms")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a dripping body took %s", took)
	}
	endless := connect(t, Config{BaseURL: serve(t, drip(64<<10, 0)), ResponseBytes: 1 << 20})
	wantFailure(t, endless.Do(t.Context(), get("/x")), rest.TooLarge, "1048576")
}

// The limit counts what a body unpacks to: 64 MiB of zeros are 64 KiB on the wire.
func TestABombEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	var written int64
	done := make(chan struct{})
	client := connect(t, Config{ResponseBytes: 1 << 20, BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(done)
		w.Header().Set("Content-Encoding", "gzip")
		packer := gzip.NewWriter(w)
		for range 4096 {
			n, err := packer.Write(make([]byte, 1<<20))
			written += int64(n)
			if err != nil {
				return
			}
		}
	})})
	failure := wantFailure(t, client.Do(t.Context(), get("/x")), rest.TooLarge, "limits.responseBytes")
	if !errors.Is(failure, errTooLarge) {
		t.Errorf("cause %v", failure.Err)
	}
	<-done
	if written >= 4096<<20 {
		t.Error("the whole bomb was taken")
	}
}
