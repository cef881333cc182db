package process

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Unprivileged says who should run a server that must not, or need not, be root. It is nil, "as we are", for everybody
// but root. For root it is nobody, as long as nobody can reach all the folders and files that are named; where one of
// them lies below a folder that is closed to others (a checkout in /root, say) it is nil as well.
func Unprivileged(paths ...string) (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the answer "as we are", as in Config.User
	}
	for _, path := range paths {
		open, err := openToAll(path)
		if err != nil {
			return nil, err
		}
		if !open {
			return nil, nil //nolint:nilnil // see above
		}
	}
	return lookup("nobody")
}

// openToAll says whether everybody may pass through all the folders above a path.
func openToAll(path string) (bool, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return false, err
		}
		const othersMayPass = 0o001
		if info.Mode().Perm()&othersMayPass == 0 {
			return false, nil
		}
		if dir == filepath.Dir(dir) {
			return true, nil
		}
	}
}

func lookup(name string) (*User, error) {
	found, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("find a user without privileges: %w", err)
	}
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		return nil, fmt.Errorf("user %s has the ids %s and %s, which are no numbers", name, found.Uid, found.Gid)
	}
	return &User{UID: uint32(uid), GID: uint32(gid)}, nil
}

// Own hands a folder and everything in it to a user. A nil user leaves it as it is.
func (u *User) Own(dir string) error {
	if u == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(u.UID), int(u.GID))
	})
}
