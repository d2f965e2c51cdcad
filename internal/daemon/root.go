package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// makeRoot creates the root, and records whether it was used before. It returns an error, and leaves nothing in the
// root, if the root is open to other users and holds files that are not Tend's: Tend must not close such a folder.
func (d *daemon) makeRoot() error {
	if err := makeFolder(d.Root); err != nil {
		return err
	}
	_, missing := os.Stat(filepath.Join(d.Root, "node"))
	d.used = missing == nil
	info, err := os.Stat(d.Root)
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.Root, err)
	}
	if info.Mode().Perm()&openTo&^d.rootMode() != 0 && !d.used && !d.isProjects() && !d.holdsOnlyOurs() {
		return fmt.Errorf("%s is open to other users (%04o) and holds files that are not Tend's: choose a folder of its own with --root, or chmod 0700 it if it is",
			d.Root, info.Mode().Perm())
	}
	return makeFolder(d.Data)
}

func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make %s: %w: choose another --root, or run as a user who may write there", path, err)
	}
	return nil
}

// rootMode returns what a root's permissions are made. Plain processes of an unprivileged user pass through it to their
// images; the files here stay their owner's.
func (d *daemon) rootMode() os.FileMode {
	runs := d.Runtime
	if runs == "" {
		runs = rememberedOr(d.Root, runtimeDocker)
	}
	if runs == runtimeProcess && os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

// openTo are the permission bits of group and others.
const openTo = 0o077

// closeRoot removes the permissions of other users from the root: it holds keys and a token. A folder that was created
// in advance (by a package, or mkdir) is often open.
func (d *daemon) closeRoot() error {
	info, err := os.Stat(d.Root)
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.Root, err)
	}
	mode := d.rootMode()
	if info.Mode().Perm()&openTo&^mode == 0 {
		if info.Mode().Perm() == mode {
			return nil
		}
		return os.Chmod(d.Root, mode)
	}
	if d.isProjects() {
		return os.Chmod(d.Root, mode)
	}
	d.Logger.Warn("the root was open to other users and is closed now", "root", d.Root,
		"was", fmt.Sprintf("%04o", info.Mode().Perm()), "is", fmt.Sprintf("%04o", mode))
	return os.Chmod(d.Root, mode)
}

// isProjects reports whether the root is a project's .tend, which is Tend's by its name and also holds the project's
// manifests.
func (d *daemon) isProjects() bool { return filepath.Base(d.Root) == ".tend" }

// keepOutOfGit makes git ignore what a server keeps in a project's folder, such as the key, but not the manifests
// there.
func (d *daemon) keepOutOfGit() error {
	path := filepath.Join(d.Root, ".gitignore")
	if info, err := os.Stat(path); !d.isProjects() || err == nil && info.Size() > 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString("# what `tend dev` keeps here; the manifests are yours to commit\n/.gitignore\n")
	for _, name := range append([]string{filepath.Base(d.Data)}, ours...) {
		text.WriteString("/" + name + "\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("keep the state out of git: %w", err)
	}
	return nil
}

// ours are the names of Tend's entries in a root: what this start has created, and what may have been put there to
// restore a server.
var ours = []string{"node", "runtime", "secret.key", "token", "plugins", "blobs", "cache", "assets", "process", "builds", "quarantine", "clusters", "tend.sock", "lost+found"}

// holdsOnlyOurs reports whether the root has no entries but Tend's.
func (d *daemon) holdsOnlyOurs() bool {
	entries, err := os.ReadDir(d.Root)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return entry.Name() != filepath.Base(d.Data) && !slices.Contains(ours, entry.Name())
	})
}
