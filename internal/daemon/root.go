package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// closeRoot takes the root's permissions from others: it holds keys and a token. A folder that was made by somebody else
// (by a package, or mkdir) is often open. One that holds other people's files is none of ours to close: that is an error.
func (d *daemon) closeRoot() error {
	const open = 0o077
	info, err := os.Stat(d.Root)
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.Root, err)
	}
	mode := os.FileMode(0o700)
	if d.Runtime == runtimeProcess && os.Geteuid() == 0 {
		mode = 0o711 // plain processes of an unprivileged user pass through to their images; the files here stay their owner's
	}
	if info.Mode().Perm()&open&^mode == 0 {
		if info.Mode().Perm() == mode {
			return nil
		}
		return os.Chmod(d.Root, mode)
	}
	if !d.used && !d.holdsOnlyOurs() {
		return fmt.Errorf("%s is open to other users (%04o) and holds files that are not Tend's: choose a folder of its own with --root, or chmod 0700 it if it is",
			d.Root, info.Mode().Perm())
	}
	d.Logger.Warn("the root was open to other users and is closed now", "root", d.Root, "was", fmt.Sprintf("%04o", info.Mode().Perm()), "is", fmt.Sprintf("%04o", mode))
	return os.Chmod(d.Root, mode)
}

// ours are the names in a root: what this start has made, and what may have been put there to restore a server.
var ours = []string{"node", "runtime", "secret.key", "token", "plugins", "blobs", "cache", "assets", "process", "builds", "quarantine", "clusters", "tend.sock", "lost+found"}

// holdsOnlyOurs says whether there is nothing in a root that may be somebody else's.
func (d *daemon) holdsOnlyOurs() bool {
	entries, err := os.ReadDir(d.Root)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return entry.Name() != filepath.Base(d.Data) && !slices.Contains(ours, entry.Name())
	})
}
