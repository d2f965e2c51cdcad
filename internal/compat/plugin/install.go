package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Request names the plugin to install.
type Request struct {
	// Source is a folder, an archive, owner/repo, or the URL of a repository. Empty is the source that plugin Name came
	// from.
	Source string
	// Version pins the plugin's version: a repository's tag v<version>, and the version in its plugin.yml. Empty and
	// "latest" mean the newest.
	Version string
	// Name is the name that the plugin must have. Default: any.
	Name string
}

// Install fetches a plugin, replaces an installed one of the same name, and runs its install hook. If any step fails,
// the earlier installation stays as it was.
func (r *Root) Install(ctx context.Context, ask Request) (*Plugin, error) {
	ask, err := r.sourced(ask)
	if err != nil {
		return nil, err
	}
	from, err := parseSource(ask.Source)
	if err != nil {
		return nil, err
	}
	done, err := r.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.MkdirAll(r.opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of plugins: %w", err)
	}
	stage, err := os.MkdirTemp(r.opts.Dir, stagePrefix)
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", Shown(ask.Source), err)
	}
	defer os.RemoveAll(stage)
	files := filepath.Join(stage, filesFolder)
	if err := os.Mkdir(files, 0o755); err != nil {
		return nil, fmt.Errorf("install %s: %w", Shown(ask.Source), err)
	}
	if err := r.fetch(ctx, from, ask.Version, files); err != nil {
		return nil, err
	}
	found, err := r.prepare(stage, files, from, ask)
	if err != nil {
		return nil, err
	}
	return r.place(ctx, found)
}

// sourced returns a request with its source: by default the source of the installed plugin that it names.
func (r *Root) sourced(ask Request) (Request, error) {
	if ask.Source != "" || ask.Name == "" {
		return ask, nil
	}
	before, err := r.Find(ask.Name)
	if before == nil {
		return ask, err
	}
	if before.Installed.Source == "" {
		return ask, &Error{Reason: Source, Plugin: before.Folder(), Detail: "nothing says where it came from",
			Next: "install it with `tend plugins install SOURCE`"}
	}
	return Request{Source: before.Installed.Source, Version: ask.Version}, nil
}

// prepare makes a fetched folder ready to be installed. If a tree has a single folder, that folder is used, because
// archives are often packed that way.
func (r *Root) prepare(stage, dir string, from source, ask Request) (*Plugin, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	fallback := nameOf(from)
	if len(entries) == 1 && entries[0].IsDir() && entries[0].Name() != "bin" && entries[0].Name() != "commands" {
		fallback = entries[0].Name()
		dir = filepath.Join(dir, fallback)
	}
	if err := makeExecutable(dir); err != nil {
		return nil, err
	}
	d, err := describe(dir, fallback)
	if err != nil {
		return nil, badSource(ask.Source, "correct the plugin", "%s", err)
	}
	commands, err := programs(dir, d)
	if err == nil {
		err = r.acceptable(d, commands, ask)
	}
	if err != nil {
		return nil, err
	}
	if err := (Installed{Source: from.text, Version: ask.Version, Pending: randomID()}).write(dir); err != nil {
		return nil, fmt.Errorf("install %s: %w", Shown(ask.Source), err)
	}
	ready := filepath.Join(stage, d.Name)
	if ready != dir {
		err = os.Rename(dir, ready)
	}
	return &Plugin{Description: d, Dir: ready, root: r}, err
}

// makeExecutable makes the plugin's programs executable: archives and some file systems lose that mode.
func makeExecutable(dir string) error {
	paths := []string{filepath.Join(dir, "install"), filepath.Join(dir, "uninstall")}
	for _, folder := range []string{"bin", "commands"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			paths = append(paths, filepath.Join(dir, folder, entry.Name()))
		}
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() {
			err = os.Chmod(path, 0o755)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// acceptable returns the reason why a plugin can't be installed: it has no command, is another plugin than the
// requested one, or has the name or an alias of another.
func (r *Root) acceptable(d Description, commands map[string]program, ask Request) error {
	if len(commands) == 0 {
		return badSource(ask.Source, "a plugin has a plugin.yml with an entrypoint and commands, or programs in bin",
			"it offers no command")
	}
	if ask.Name != "" && d.Name != ask.Name {
		return badSource(ask.Source, "correct the repository", "it is the plugin %s, not %s", d.Name, ask.Name)
	}
	if want := pin(ask.Version); want != "" && pin(d.Version) != want {
		return badSource(ask.Source, "correct the version, or the source", "it is version %q, not %s", d.Version, want)
	}
	others, err := r.List()
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Folder() == d.Name {
			continue
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if other.Folder() == name || slices.Contains(other.Aliases, name) {
				return &Error{Reason: Taken, Plugin: d.Name,
					Detail: fmt.Sprintf("the plugin %s answers to %s already", other.Folder(), name),
					Next:   "remove that one first (`tend plugins remove " + other.Folder() + "`), or install another"}
			}
		}
	}
	return nil
}

// nameOf derives a plugin's name from its source.
func nameOf(from source) string {
	name := filepath.Base(from.where)
	for _, ending := range []string{".git", ".tar.gz", ".tgz"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// alone waits until no other plugin is being installed or removed.
func (r *Root) alone(ctx context.Context) (done func(), err error) {
	if err := r.turns.mayInstall(ctx); err != nil {
		return nil, err
	}
	select {
	case r.installing <- struct{}{}:
		return func() { <-r.installing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another installation: %w", context.Cause(ctx))
	}
}

// quiet waits until no call of a plugin runs, and prevents new ones until changed is called.
func (r *Root) quiet(ctx context.Context, name string) (changed func(), err error) {
	if err := r.turns.mayChange(ctx, name); err != nil {
		return nil, err
	}
	return r.turns.change(ctx, name)
}

// Remove runs a plugin's uninstall hook and removes its folder. A hook that fails does not stop the removal: its error
// is returned as a warning.
func (r *Root) Remove(ctx context.Context, name string) (warning string, err error) {
	done, err := r.alone(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	p, err := r.Find(name)
	if p == nil {
		return "", err
	}
	changed, err := r.quiet(ctx, p.Folder())
	if err != nil {
		return "", err
	}
	defer changed()
	if hooked := p.hook(ctx, hookUninstall); hooked != nil {
		warning = hooked.Error()
	}
	r.swapping.Lock()
	defer r.swapping.Unlock()
	return warning, r.discard(p.Dir)
}
