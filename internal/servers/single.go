package servers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/repository"
)

// single is a server that is one process on one port.
type single struct {
	// BaseURL is the address of the API.
	BaseURL string

	folder  folder
	user    *process.User
	started []*process.Process
}

// singleConfig says how such a server is run.
type singleConfig struct {
	name, program string
	// args are the arguments of the server in this folder at this address.
	args func(dir, address string) []string
	// asRoot keeps the privileges that this process has.
	asRoot bool
	// env is what the server sees beside its home and the path to programs.
	env func(dir string) []string
	// ready is a path that answers 200 without credentials once the server is up.
	ready string
}

// startSingle starts a server and returns when it answers. The context bounds the start alone.
func startSingle(ctx context.Context, options Options, config singleConfig) (*single, error) {
	if _, err := os.Stat(config.program); err != nil {
		return nil, fmt.Errorf("%s is not there: run `make servers`: %w", config.name, err)
	}
	s, err := process.Retry(func() (*single, error) { return tryStart(ctx, options, config) })
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", config.name, err)
	}
	return s, nil
}

func tryStart(ctx context.Context, options Options, config singleConfig) (*single, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	place, err := newFolder(options, config.name)
	if err != nil {
		return nil, err
	}
	s := &single{folder: place}
	if err := s.start(ctx, config); err != nil {
		stopAll(s.started)
		return nil, err // the folder stays, because the error names a log in it
	}
	return s, logReady(options, config.name, s.BaseURL, began)
}

func (s *single) start(ctx context.Context, config singleConfig) error {
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return err
	}
	if err := s.own(config); err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	s.BaseURL = "http://" + address
	p, err := process.Start(s.command(config, config.args(s.folder.path, address)))
	if err != nil {
		return err
	}
	s.started = append(s.started, p)
	if config.ready == "" {
		return nil
	}
	return p.WaitReady(ctx, func(ctx context.Context) error {
		_, err := call(ctx, http.MethodGet, s.BaseURL+config.ready, "", "", "")
		return err
	})
}

func (s *single) own(config singleConfig) (err error) {
	if config.asRoot {
		return nil
	}
	if s.user, err = process.Unprivileged(config.program, s.folder.path); err != nil {
		return err
	}
	return s.user.Own(s.folder.path)
}

func (s *single) command(config singleConfig, args []string) process.Config {
	var more []string
	if config.env != nil {
		more = config.env(s.folder.path)
	}
	return process.Config{
		Name: config.name, Path: config.program, Args: args, Env: environment(s.folder.path, more...),
		WorkDir: s.folder.path, LogFile: filepath.Join(s.folder.path, config.name+".log"), User: s.user,
	}
}

// Dir is the folder that holds data and logs.
func (s *single) Dir() string { return s.folder.path }

// Stop ends the server and removes its temporary folder.
func (s *single) Stop() error {
	stopAll(s.started)
	return s.folder.remove()
}

// built is the path of a program that the Makefile builds.
func built(options Options, name string) (string, error) {
	if options.BinDir != "" {
		return filepath.Join(options.BinDir, name), nil
	}
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "bin", name), nil
}
