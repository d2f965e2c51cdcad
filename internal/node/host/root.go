package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Prepare creates the root's folders, readable only by their owner, and fills in the name of the node, its runtime and
// its platform network. used reports whether the root was used before.
func (o *Options) Prepare() (used bool, err error) {
	if used, err = o.makeRoot(); err != nil {
		return used, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	if o.Node, err = remembered(o.Root, "node", o.Node, host); err != nil {
		return used, err
	}
	if o.Runtime, err = remembered(o.Root, "runtime", o.Runtime, runtimeDocker); err != nil {
		return used, err
	}
	if err := o.rememberNetwork(); err != nil {
		return used, err
	}
	return used, errors.Join(o.closeRoot(), o.keepOutOfGit())
}

// rememberNetwork fills in the platform network: the one that the root was first used with. Containers stay in the
// network that they were created in, so another one would keep new pods from resolving and reaching the old ones. A
// root of an earlier version has no record; the network of this start is recorded. Plain processes have no network.
func (o *Options) rememberNetwork() (err error) {
	if o.Runtime == runtimeDocker {
		o.Network, err = remembered(o.Root, "network", o.Network, api.Network)
	}
	return err
}

// makeRoot creates the root, and reports whether it was used before. If the root is open to other users and holds files
// that are not Tend's, it returns an error and changes nothing: Tend must not close such a folder.
func (o *Options) makeRoot() (used bool, err error) {
	if err := makeFolder(o.Root); err != nil {
		return false, err
	}
	_, missing := os.Stat(filepath.Join(o.Root, "node"))
	used = missing == nil
	info, err := os.Stat(o.Root)
	if err != nil {
		return used, fmt.Errorf("read %s: %w", o.Root, err)
	}
	if info.Mode().Perm()&openTo&^o.rootMode() != 0 && !used && !o.isProjects() && !o.holdsOnlyOurs() {
		return used,
			fmt.Errorf("%s is open to other users (%04o) and holds files that are not Tend's: choose a folder of its own with --root, or chmod 0700 it if it is",
				o.Root, info.Mode().Perm())
	}
	if o.Data == "" {
		return used, nil
	}
	return used, makeFolder(o.Data)
}

func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make %s: %w: choose another --root, or run as a user who may write there", path, err)
	}
	return nil
}

// rootMode returns the permissions for the root. Plain processes of an unprivileged user traverse it to their images;
// the files in it stay their owner's.
func (o *Options) rootMode() os.FileMode {
	runs := o.Runtime
	if runs == "" {
		runs = rememberedOr(o.Root, "runtime", runtimeDocker)
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
func (o *Options) closeRoot() error {
	info, err := os.Stat(o.Root)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.Root, err)
	}
	mode := o.rootMode()
	if info.Mode().Perm()&openTo&^mode == 0 {
		if info.Mode().Perm() == mode {
			return nil
		}
		return os.Chmod(o.Root, mode)
	}
	if o.isProjects() {
		return os.Chmod(o.Root, mode)
	}
	o.Logger.Warn("the root was open to other users and is closed now", "root", o.Root,
		"was", fmt.Sprintf("%04o", info.Mode().Perm()), "is", fmt.Sprintf("%04o", mode))
	return os.Chmod(o.Root, mode)
}

// isProjects reports whether the root is a project's .tend, which is Tend's by its name and also holds the project's
// manifests.
func (o *Options) isProjects() bool { return filepath.Base(o.Root) == ".tend" }

// keepOutOfGit makes git ignore everything in a project's folder, such as the key, except the manifests.
func (o *Options) keepOutOfGit() error {
	path := filepath.Join(o.Root, ".gitignore")
	before, err := os.ReadFile(path)
	switch {
	case !o.isProjects():
		return nil
	case err == nil && len(before) > 0:
		return nil
	}
	var text strings.Builder
	text.WriteString("# `tend dev` keeps its keys and its state here. The manifests are yours to commit; add !/NAME for another file.\n*\n")
	for _, ending := range manifests {
		text.WriteString("!/*" + ending + "\n")
	}
	for _, name := range ours {
		if slices.Contains(manifests, filepath.Ext(name)) {
			text.WriteString("/" + name + "\n")
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("keep the state out of git: %w", err)
	}
	return nil
}

// manifests are the endings of the files that internal/input/manifest reads.
var manifests = []string{".hcl", ".tend", ".voodu", ".vdu", ".vd", ".yaml", ".yml", ".json"}

// ours are the names of Tend's entries in a root: those that this start created, and those that a person may have put
// there to restore a server.
var ours = []string{"node", "server", "runtime", "network", "secret.key", "machine.key", "token", "plugins", "blobs",
	"cache", "assets", "process", "builds", "transfers", "logs", "syncs", "quarantine", "clusters", "joined", "overlay.key",
	"network.json", "peers", "backup.partial", "restore.partial", "restore.ready", "replaced", "tend.sock", "lost+found"}

// holdsOnlyOurs reports whether the root has no entries but Tend's.
func (o *Options) holdsOnlyOurs() bool {
	entries, err := os.ReadDir(o.Root)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return entry.Name() != filepath.Base(o.Data) && !slices.Contains(ours, entry.Name())
	})
}

// remembered returns a setting of this machine that is kept in a file: asked counts on the first use, and afterwards
// the file does, so that a renamed host or a changed flag doesn't orphan running containers.
func remembered(root, file, asked, fallback string) (string, error) {
	path := filepath.Join(root, file)
	content, err := os.ReadFile(path)
	kept := strings.TrimSpace(string(content))
	switch {
	case err == nil && kept != "" && asked != "" && asked != kept:
		return "", fmt.Errorf("this root was first used with --%[1]s %[2]s, not %[3]s: leave --%[1]s out, "+
			"or use another --root. If its containers are of %[3]s, correct %[4]s, which records it", file, kept, asked, path)
	case err == nil && kept != "":
		return kept, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	asked = cmp.Or(asked, fallback)
	if err := os.WriteFile(path, []byte(asked+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return asked, nil
}

// Forget removes the settings that Prepare stored in a new root, if the machine could not join: it may join under
// another name.
func (o *Options) Forget() error {
	var failed error
	for _, file := range []string{"node", "runtime", "network"} {
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(o.Root, file)))
	}
	return failed
}

// rememberedOr returns the setting with which a root was first used, or the fallback for a new root.
func rememberedOr(root, file, fallback string) string {
	content, err := os.ReadFile(filepath.Join(root, file))
	if kept := strings.TrimSpace(string(content)); err == nil && kept != "" {
		return kept
	}
	return fallback
}
