package servers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/restmapping/operator/internal/process"
)

// rabbitmqProgram is where Debian and Ubuntu install the server itself. The command of the same name in /usr/sbin
// insists on the package's own user and folders.
const rabbitmqProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// RabbitMQ is a running RabbitMQ with its management API. Its owner must call Stop.
type RabbitMQ struct {
	// BaseURL is the address of the management API, with its path /api.
	BaseURL string
	// User and Password belong to the administrator.
	User, Password string

	folder  folder
	user    *process.User
	started []*process.Process
}

// StartRabbitMQ starts a RabbitMQ with its own Erlang port mapper and returns when its API answers. The context bounds
// the start alone.
func StartRabbitMQ(ctx context.Context, options Options) (*RabbitMQ, error) {
	if _, err := os.Stat(rabbitmqProgram); err != nil {
		return nil, fmt.Errorf("rabbitmq is not installed: run `make servers`: %w", err)
	}
	r, err := process.Retry(func() (*RabbitMQ, error) { return startRabbitMQ(ctx, options) })
	if err != nil {
		return nil, fmt.Errorf("start rabbitmq: %w", err)
	}
	return r, nil
}

func startRabbitMQ(ctx context.Context, options Options) (*RabbitMQ, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	place, err := newFolder(options, "rabbitmq")
	if err != nil {
		return nil, err
	}
	user, err := process.Unprivileged(rabbitmqProgram, place.path)
	if err != nil {
		return nil, err
	}
	r := &RabbitMQ{User: "admin", Password: random(), folder: place, user: user}
	if err := r.start(ctx); err != nil {
		stopAll(r.started)
		return nil, err // the folder stays, because the error names a log in it
	}
	return r, logReady(options, "rabbitmq", r.BaseURL, began)
}

// rabbitmqPorts are what one server listens on.
type rabbitmqPorts struct{ amqp, management, distribution, mapper int }

func (r *RabbitMQ) start(ctx context.Context) error {
	found, err := process.FreePorts(ctx, 4)
	if err != nil {
		return err
	}
	ports := rabbitmqPorts{amqp: found[0], management: found[1], distribution: found[2], mapper: found[3]}
	r.BaseURL = fmt.Sprintf("http://127.0.0.1:%d/api", ports.management)
	if err := r.writeFiles(ports); err != nil {
		return err
	}
	// RabbitMQ would start a port mapper that outlives it, so it gets one of ours.
	if err := r.startMapper(ports); err != nil {
		return err
	}
	return r.serve(ctx, ports)
}

// writeFiles makes the configuration and the folders.
func (r *RabbitMQ) writeFiles(ports rabbitmqPorts) error {
	config := fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
management.tcp.ip = 127.0.0.1
management.tcp.port = %d
default_user = %s
default_pass = %s
log.console = true
log.file = false
`, ports.amqp, ports.management, r.User, r.Password)
	files := map[string]string{"rabbitmq.conf": config, "enabled_plugins": "[rabbitmq_management].\n", "advanced.config": "[].\n", "env.conf": ""}
	for name, content := range files {
		if err := r.folder.write(name, content); err != nil {
			return err
		}
	}
	for _, name := range []string{"mnesia", "log"} {
		if _, err := r.folder.sub(name); err != nil {
			return err
		}
	}
	return r.user.Own(r.folder.path)
}

func (r *RabbitMQ) startMapper(ports rabbitmqPorts) error {
	path, err := exec.LookPath("epmd")
	if err != nil {
		return fmt.Errorf("erlang's port mapper: %w", err)
	}
	p, err := process.Start(process.Config{
		Name: "epmd", Path: path, Args: []string{"-port", fmt.Sprint(ports.mapper), "-address", "127.0.0.1"},
		Env: environment(r.folder.path), LogFile: filepath.Join(r.folder.path, "epmd.log"), User: r.user,
	})
	if err != nil {
		return err
	}
	r.started = append(r.started, p)
	return nil
}

func (r *RabbitMQ) serve(ctx context.Context, ports rabbitmqPorts) error {
	p, err := process.Start(process.Config{
		Name: "rabbitmq", Path: rabbitmqProgram, Env: environment(r.folder.path, r.variables(ports)...),
		WorkDir: r.folder.path, LogFile: filepath.Join(r.folder.path, "rabbitmq.log"), User: r.user,
	})
	if err != nil {
		return err
	}
	r.started = append(r.started, p)
	return p.WaitReady(ctx, func(ctx context.Context) error {
		_, err := call(ctx, http.MethodGet, r.BaseURL+"/whoami", r.User, r.Password, "")
		return err
	})
}

// variables keep the server inside its folder and on the loopback interface. RABBITMQ_ALLOW_INPUT makes the script
// become the server instead of its parent, so that signals and "die with the parent" reach the server itself.
func (r *RabbitMQ) variables(ports rabbitmqPorts) []string {
	in := func(name string) string { return filepath.Join(r.folder.path, name) }
	return []string{
		fmt.Sprintf("RABBITMQ_NODENAME=rabbit%d@localhost", ports.distribution),
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", ports.distribution),
		fmt.Sprintf("ERL_EPMD_PORT=%d", ports.mapper), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_CONF_ENV_FILE=" + in("env.conf"), "RABBITMQ_CONFIG_FILE=" + in("rabbitmq.conf"),
		"RABBITMQ_ADVANCED_CONFIG_FILE=" + in("advanced.config"), "RABBITMQ_ENABLED_PLUGINS_FILE=" + in("enabled_plugins"),
		"RABBITMQ_MNESIA_BASE=" + in("mnesia"), "RABBITMQ_LOG_BASE=" + in("log"),
		"RABBITMQ_ALLOW_INPUT=1",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-noinput -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
	}
}

// Dir is the folder that holds data and logs.
func (r *RabbitMQ) Dir() string { return r.folder.path }

// Stop ends RabbitMQ and its port mapper, and removes its temporary folder.
func (r *RabbitMQ) Stop() error {
	stopAll(r.started)
	return r.folder.remove()
}
