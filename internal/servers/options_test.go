package servers

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/process"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	temporary, err := newFolder(Options{}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := temporary.write("a/b", "text"); err != nil {
		t.Fatal(err)
	}
	if err := temporary.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temporary.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a temporary folder stays: %v", err)
	}

	kept, err := newFolder(Options{Dir: filepath.Join(t.TempDir(), "new")}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.remove(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(kept.path)
	if err != nil {
		t.Fatalf("a folder that the caller named is gone: %v", err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("others can look into the folder: %v", info.Mode())
	}
}

func TestGiteaThatIsNotBuilt(t *testing.T) {
	t.Parallel()
	_, err := StartGitea(t.Context(), Options{BinDir: t.TempDir()})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "make gitea") {
		t.Errorf("want the remedy, got %v", err)
	}
}

func TestGiteaRunsAsRootOnlyWhereNobodyElseCan(t *testing.T) {
	t.Parallel()
	const allowed = "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true"
	asNobody := giteaConfig("/data", giteaProgram{user: &process.User{UID: 65534, GID: 65534}}, 3000)
	if strings.Contains(asNobody, allowed) {
		t.Error("root is allowed although another user runs it")
	}
	asWeAre := giteaConfig("/data", giteaProgram{}, 3000)
	if strings.Contains(asWeAre, allowed) != (os.Geteuid() == 0) {
		t.Error("root is to be allowed exactly where the server runs as root")
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "me" || password != "secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(r.Method))
	}))
	t.Cleanup(server.Close)
	answer, err := call(t.Context(), http.MethodPost, server.URL, "me", "secret", "{}")
	if err != nil || string(answer) != http.MethodPost {
		t.Errorf("got %q, %v", answer, err)
	}
	_, err = call(t.Context(), http.MethodGet, server.URL, "me", "wrong", "")
	if err == nil || !strings.Contains(err.Error(), "who are you?") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("want what the server said and no password, got %v", err)
	}
}

func TestEnvironmentHasNothingOfOurs(t *testing.T) {
	t.Setenv("A_SECRET_OF_OURS", "x")
	for _, variable := range environment("/home", "MORE=1") {
		if strings.HasPrefix(variable, "A_SECRET_OF_OURS") {
			t.Errorf("the server sees %s", variable)
		}
	}
}

func TestLogReady(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if err := logReady(Options{Log: &log}, "gitea", "http://127.0.0.1:3000", time.Now()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(log.String(), "gitea is ready at http://127.0.0.1:3000 after ") {
		t.Errorf("got %q", log.String())
	}
	if err := logReady(Options{}, "gitea", "", time.Now()); err != nil {
		t.Errorf("without a log: %v", err)
	}
}
