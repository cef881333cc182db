package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// marker is the variable that tells the second process that it is the second: the folder that both share.
const marker = "RESTMAPPING_NODE_FOLDER"

// folderPrefix begins the names of the folder and of the cgroups.
const folderPrefix = "restmapping-node-"

// Isolate runs this program once more, with the same arguments, in new namespaces, waits for it and cleans up; it returns the
// exit code. In the second process it calls run. Call it first thing in main or TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(node.Isolate(m.Run)) }
//
// The kernel ends every process in there, containers and their keepers included, when the second process ends.
func Isolate(run func() int) int {
	if folder := os.Getenv(marker); folder != "" {
		if err := settle(folder); err != nil {
			fmt.Fprintln(os.Stderr, "node:", err)
			return 1
		}
		return run()
	}
	code, err := again()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		return 1
	}
	return code
}

// Folder is where the isolated process keeps its files. It is removed by the first process.
func Folder() string { return os.Getenv(marker) }

// again starts the second process and waits for it.
func again() (int, error) {
	folder, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return 0, fmt.Errorf("folder of the nodes: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	//nolint:noctx // it is the program itself, and ends as the program ends
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), marker+"="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	// The kernel watches the thread that started the child, so it must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Ctrl-C reaches both processes; this one stays to clean up.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, errors.Join(fmt.Errorf("start in new namespaces: %w", err), os.RemoveAll(folder))
	}
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-signals:
			_ = cmd.Process.Kill() // the error means that it has ended
		case <-stopped:
		}
	}()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	code := cmd.ProcessState.ExitCode()
	return code, errors.Join(removeCgroups(filepath.Base(folder)), removeFolder(folder, code))
}

// removeFolder keeps the logs of a run that failed.
func removeFolder(folder string, code int) error {
	if code != 0 {
		kept := filepath.Join(os.TempDir(), filepath.Base(folder)+"-logs")
		if err := os.Rename(filepath.Join(folder, "logs"), kept); err == nil {
			fmt.Fprintf(os.Stderr, "node: the logs are in %s\n", kept)
		}
	}
	return os.RemoveAll(folder)
}

// settle makes the new namespaces usable: mounts that stay in here, the processes of in here alone, a cgroup of our own, and
// private copies of what programs of Kubernetes would change for the whole machine.
func settle(folder string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	// /proc of the parent would show processes that are not in here.
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := joinCgroups(filepath.Base(folder)); err != nil {
		return err
	}
	// containerd, CNI and iptables keep locks, sockets and records in these, at fixed places.
	for _, dir := range []string{"/run", "/var/lib/cni", "/var/log"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("private %s: %w", dir, err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("private %s: %w", dir, err)
		}
	}
	return shadowKernelSettings(folder)
}

// kernelSettings are those that a kubelet sets for the whole machine. It finds them as it wants them, in files of ours.
var kernelSettings = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

func shadowKernelSettings(folder string) error {
	for name, value := range kernelSettings {
		file := filepath.Join(folder, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return fmt.Errorf("private kernel setting %s: %w", name, err)
		}
		if err := syscall.Mount(file, "/proc/sys/"+name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("private kernel setting %s: %w", name, err)
		}
	}
	return nil
}

// hierarchies are the folders of all cgroup controllers.
func hierarchies() ([]string, error) {
	return filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
}

// joinCgroups puts this process into cgroups of its own; runc makes those of containers below them, because the kubelet names no
// parent.
func joinCgroups(name string) error {
	files, err := hierarchies()
	if err != nil {
		return err
	}
	for _, file := range files {
		dir := filepath.Join(filepath.Dir(file), name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("own cgroup: %w", err)
		}
		if err := inheritCPUs(filepath.Dir(file), dir); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o600); err != nil {
			return fmt.Errorf("own cgroup: %w", err)
		}
	}
	return nil
}

// inheritCPUs fills a new cpuset, which has no processors and lets nobody in before.
func inheritCPUs(parent, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another controller
		}
		if err != nil {
			return fmt.Errorf("own cgroup: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), value, 0o600); err != nil {
			return fmt.Errorf("own cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the cgroups of this run. The kernel needs a moment after the last process has ended.
func removeCgroups(name string) error {
	const attempts, pause = 100, 100 * time.Millisecond
	var err error
	for range attempts {
		if err = tryRemoveCgroups(name); err == nil {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("remove the cgroups of the nodes: %w", err)
}

// tryRemoveCgroups removes folders from below; the kernel refuses while a process is in one.
func tryRemoveCgroups(name string) error {
	files, err := hierarchies()
	if err != nil {
		return err
	}
	var problems []error
	for _, file := range files {
		top := filepath.Join(filepath.Dir(file), name)
		var dirs []string
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		problems = append(problems, err)
		for _, dir := range slices.Backward(dirs) {
			if err := syscall.Rmdir(dir); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", dir, err))
			}
		}
	}
	return errors.Join(problems...)
}
