//go:build e2e

package servers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/restmapping/operator/internal/servers"
)

// get sends a GET request and decodes the answer. It returns the status code.
func get(t *testing.T, address string, authorize func(*http.Request), into any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	authorize(request)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("GET %s: %s: %s", address, response.Status, body)
	}
	return response.StatusCode
}

// running lists the processes whose command line or environment names the text, and whether one of them is root's.
func running(t *testing.T, text string) (lines []string, root bool) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("these tests need /proc: %v", err)
	}
	for _, folder := range folders {
		info, statErr := os.Stat(folder)
		line, lineErr := os.ReadFile(folder + "/cmdline")
		environment, _ := os.ReadFile(folder + "/environ")
		if statErr != nil || lineErr != nil || !bytes.Contains(append(line, environment...), []byte(text)) {
			continue
		}
		lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid == 0 {
			root = true
		}
	}
	return lines, root
}

// port is the port of an address.
func port(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Hostname() != "127.0.0.1" {
		t.Errorf("%s is not on the loopback interface", address)
	}
	return parsed.Port()
}

func TestGitea(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g, err := servers.StartGitea(t.Context(), servers.Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop() })
	port(t, g.BaseURL)

	var me struct {
		Login   string `json:"login"`
		IsAdmin bool   `json:"is_admin"`
	}
	code := get(t, g.BaseURL+"/user", func(r *http.Request) { r.Header.Set("Authorization", "token "+g.Token) }, &me)
	if code != http.StatusOK || me.Login != g.User || !me.IsAdmin {
		t.Errorf("who is the token's owner? %d %+v", code, me)
	}
	code = get(t, g.BaseURL+"/user", func(r *http.Request) { r.Header.Set("Authorization", "token wrong") }, &me)
	if code != http.StatusUnauthorized {
		t.Errorf("a wrong token: want 401, got %d", code)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("want one progress line, got %q", log.String())
	}

	dir := g.Dir()
	lines, root := running(t, dir)
	if len(lines) == 0 || root {
		t.Errorf("want a Gitea that is not root, got %v (root: %t)", lines, root)
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if left, _ := running(t, dir); len(left) > 0 {
		t.Errorf("still running after Stop: %v", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r, err := servers.StartRabbitMQ(t.Context(), servers.Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop() })
	port(t, r.BaseURL)

	var me struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	code := get(t, r.BaseURL+"/whoami", func(request *http.Request) { request.SetBasicAuth(r.User, r.Password) }, &me)
	if code != http.StatusOK || me.Name != r.User || len(me.Tags) != 1 || me.Tags[0] != "administrator" {
		t.Errorf("whoami: %d %+v", code, me)
	}
	code = get(t, r.BaseURL+"/whoami", func(request *http.Request) { request.SetBasicAuth(r.User, "wrong") }, &me)
	if code != http.StatusUnauthorized {
		t.Errorf("a wrong password: want 401, got %d", code)
	}

	dir := r.Dir()
	lines, root := running(t, dir)
	if len(lines) < 2 || root {
		t.Errorf("want RabbitMQ and epmd, not as root, got %v (root: %t)", lines, root)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if left, _ := running(t, dir); len(left) > 0 {
		t.Errorf("still running after Stop: %v", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
