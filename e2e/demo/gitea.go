package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// gitea looks at the server as anybody with a token would, not through the operator.
type gitea struct{ base, token string }

const (
	giteaTimeout = 10 * time.Second
	maxAnswer    = 1 << 20
)

func (g gitea) do(ctx context.Context, method, path, body string) (int, map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, giteaTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "token "+g.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil && resp.StatusCode == http.StatusOK {
		return 0, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return resp.StatusCode, object, nil
}

// show prints fields of an object as Gitea has it.
func (g gitea) show(ctx context.Context, path string, fields ...string) error {
	fmt.Printf("$ curl -H \"Authorization: token $TOKEN\" %s%s\n", g.base, path)
	status, object, err := g.do(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s answered %d: the object is not in Gitea", path, status)
	}
	for _, field := range fields {
		fmt.Printf("   %-15s %v\n", field, object[field])
	}
	return nil
}

func (g gitea) patch(ctx context.Context, path, body string) error {
	fmt.Printf("$ curl -X PATCH -H \"Authorization: token $TOKEN\" -d '%s' %s%s\n", body, g.base, path)
	status, _, err := g.do(ctx, http.MethodPatch, path, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("PATCH %s answered %d", path, status)
	}
	return err
}

// await waits until a field has a value.
func (g gitea) await(ctx context.Context, path, field, want string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, object, err := g.do(ctx, http.MethodGet, path, "")
		if err != nil {
			return err
		}
		if object[field] == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s of %s is still %v", field, path, object[field])
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (g gitea) gone(ctx context.Context, path string) error {
	fmt.Printf("$ curl -H \"Authorization: token $TOKEN\" %s%s\n", g.base, path)
	status, _, err := g.do(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	fmt.Printf("   %d %s\n", status, http.StatusText(status))
	if status != http.StatusNotFound {
		return fmt.Errorf("GET %s answered %d: the object is still in Gitea", path, status)
	}
	return nil
}
