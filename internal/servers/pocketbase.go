package servers

import (
	"context"
	"path/filepath"

	"github.com/restmapping/operator/internal/process"
)

// PocketBase is a running PocketBase with a superuser. Its owner must call Stop.
type PocketBase struct {
	*single
	// User and Password belong to the superuser.
	User, Password string
}

// StartPocketBase starts a PocketBase and returns when its API answers. The context bounds the start alone.
func StartPocketBase(ctx context.Context, options Options) (*PocketBase, error) {
	program, err := built(options, "pocketbase")
	if err != nil {
		return nil, err
	}
	user, password := "admin@example.org", random()
	s, err := startSingle(ctx, options, singleConfig{
		name: "pocketbase", program: program, ready: "/api/health",
		args: func(dir, address string) []string {
			return []string{"serve", "--dir", filepath.Join(dir, "data"), "--http", address}
		},
	})
	if err != nil {
		return nil, err
	}
	p := &PocketBase{single: s, User: user, Password: password}
	upsert := process.Config{
		Name: "pocketbase superuser", Path: program, Args: []string{"superuser", "upsert", user, password, "--dir", filepath.Join(s.folder.path, "data")},
		Env: environment(s.folder.path), WorkDir: s.folder.path, LogFile: filepath.Join(s.folder.path, "superuser.log"), User: s.user,
	}
	if err := process.Run(ctx, upsert); err != nil {
		stopAll(s.started)
		return nil, err // the folder stays, because the error names a log in it
	}
	return p, nil
}
