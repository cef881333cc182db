package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/repository"
)

// giteaAdmin is the name of the administrator of a new Gitea.
const giteaAdmin = "root1"

// Gitea is a running Gitea with an administrator. Its owner must call Stop.
type Gitea struct {
	// BaseURL is the address of the API, with its path /api/v1. WebURL is what a browser opens.
	BaseURL, WebURL string
	// User and Password belong to the administrator, and so does Token, which may do everything.
	User, Password, Token string

	folder  folder
	started []*process.Process
}

// giteaProgram is where Gitea's parts are, and who runs it.
type giteaProgram struct {
	path, static string
	user         *process.User
}

// StartGitea starts a Gitea with SQLite and returns when its API answers. The context bounds the start alone.
func StartGitea(ctx context.Context, options Options) (*Gitea, error) {
	program, err := findGitea(options.BinDir)
	if err != nil {
		return nil, err
	}
	g, err := process.Retry(func() (*Gitea, error) { return startGitea(ctx, options, program) })
	if err != nil {
		return nil, fmt.Errorf("start gitea: %w", err)
	}
	return g, nil
}

func findGitea(dir string) (giteaProgram, error) {
	if dir == "" {
		root, err := repository.Root()
		if err != nil {
			return giteaProgram{}, err
		}
		dir = filepath.Join(root, "bin")
	}
	program := giteaProgram{path: filepath.Join(dir, "gitea"), static: filepath.Join(dir, "gitea-static")}
	for _, path := range []string{program.path, filepath.Join(program.static, "templates")} {
		if _, err := os.Stat(path); err != nil {
			return giteaProgram{}, fmt.Errorf("gitea is not built: run `make gitea`: %w", err)
		}
	}
	return program, nil
}

func startGitea(ctx context.Context, options Options, program giteaProgram) (*Gitea, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	place, err := newFolder(options, "gitea")
	if err != nil {
		return nil, err
	}
	program.user, err = process.Unprivileged(program.path, filepath.Join(program.static, "templates"), place.path)
	if err != nil {
		return nil, err
	}
	g := &Gitea{User: giteaAdmin, Password: random(), folder: place}
	if err := g.start(ctx, program); err != nil {
		stopAll(g.started)
		return nil, err // the folder stays, because the error names a log in it
	}
	return g, logReady(options, "gitea", g.WebURL, began)
}

func (g *Gitea) start(ctx context.Context, program giteaProgram) error {
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return err
	}
	g.WebURL = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	g.BaseURL = g.WebURL + "/api/v1"
	if err := g.folder.write("app.ini", giteaConfig(g.folder.path, program, ports[0])); err != nil {
		return err
	}
	if err := program.user.Own(g.folder.path); err != nil {
		return err
	}
	if err := process.Run(ctx, g.config(program, "gitea migrate", "migrate")); err != nil {
		return err
	}
	create := g.config(program, "gitea admin user create", "admin", "user", "create", "--admin", "--must-change-password=false",
		"--username", g.User, "--password", g.Password, "--email", g.User+"@example.org")
	if err := process.Run(ctx, create); err != nil {
		return err
	}
	return g.serve(ctx, program)
}

// serve starts the web server and fetches the administrator's token.
func (g *Gitea) serve(ctx context.Context, program giteaProgram) error {
	p, err := process.Start(g.config(program, "gitea", "web"))
	if err != nil {
		return err
	}
	g.started = append(g.started, p)
	err = p.WaitReady(ctx, func(ctx context.Context) error {
		_, err := call(ctx, http.MethodGet, g.BaseURL+"/user", g.User, g.Password, "")
		return err
	})
	if err != nil {
		return err
	}
	answer, err := call(ctx, http.MethodPost, g.BaseURL+"/users/"+g.User+"/tokens", g.User, g.Password, `{"name":"operator","scopes":["all"]}`)
	if err != nil {
		return fmt.Errorf("token of the administrator: %w", err)
	}
	var token struct {
		Value string `json:"sha1"`
	}
	if err := json.Unmarshal(answer, &token); err != nil || token.Value == "" {
		return fmt.Errorf("token of the administrator: the answer holds none (%w)", err)
	}
	g.Token = token.Value
	return nil
}

// config is how every gitea command runs.
func (g *Gitea) config(program giteaProgram, name string, args ...string) process.Config {
	return process.Config{
		Name: name, Path: program.path, Args: append(args, "--config", filepath.Join(g.folder.path, "app.ini")),
		Env: environment(g.folder.path, "GITEA_WORK_DIR="+g.folder.path), WorkDir: g.folder.path,
		LogFile: filepath.Join(g.folder.path, "gitea.log"), User: program.user,
	}
}

// Dir is the folder that holds data and logs.
func (g *Gitea) Dir() string { return g.folder.path }

// Stop ends Gitea and removes its temporary folder.
func (g *Gitea) Stop() error {
	stopAll(g.started)
	return g.folder.remove()
}

// giteaConfig is the whole configuration: an instance that needs no network, no mail and no background jobs, and that
// sends webhooks to any address.
func giteaConfig(dir string, program giteaProgram, port int) string {
	asRoot := program.user == nil && os.Geteuid() == 0
	return fmt.Sprintf(`APP_NAME = Gitea
RUN_MODE = prod
WORK_PATH = %[1]s
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = %[4]t
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]d
ROOT_URL = http://127.0.0.1:%[3]d/
STATIC_ROOT_PATH = %[2]s
OFFLINE_MODE = true
DISABLE_SSH = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
SQLITE_TIMEOUT = 20000
[security]
INSTALL_LOCK = true
SECRET_KEY = %[5]s
PASSWORD_HASH_ALGO = pbkdf2_v1
[service]
DISABLE_REGISTRATION = true
[indexer]
ISSUE_INDEXER_TYPE = db
[actions]
ENABLED = false
[packages]
ENABLED = false
[cron]
ENABLED = false
[cron.update_checker]
ENABLED = false
[webhook]
ALLOWED_HOST_LIST = *
[log]
MODE = console
LEVEL = Info
`, dir, program.static, port, asRoot, random())
}
