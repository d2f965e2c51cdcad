package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/internal/platform/subprocess"
)

// Folders beside those of the plugins. A crash may leave both kinds: settle removes the first, and moves the second
// back if its place is empty.
const (
	stagePrefix = ".stage-" // is being fetched, or removed
	oldPrefix   = ".old-"   // the version that a new one replaces
	filesFolder = ".files"  // the fetched files within a stage
)

// place moves a staged plugin to its place and runs its install hook there, since the hook may store paths. The
// replaced plugin is kept beside it meanwhile, and moved back if the hook fails.
func (r *Root) place(ctx context.Context, staged *Plugin) (*Plugin, error) {
	name := staged.Folder()
	changed, err := r.quiet(ctx, name)
	if err != nil {
		return nil, err
	}
	defer changed()
	target, old := filepath.Join(r.opts.Dir, name), filepath.Join(r.opts.Dir, oldPrefix+name)
	replaced, err := r.swap(staged.Dir, target, old)
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", name, err)
	}
	p := r.load(target)
	if err = p.Err; err == nil {
		err = p.hook(ctx, hookInstall)
	}
	if err == nil {
		p.Installed.Pending = ""
		err = p.Installed.write(target) // a crash from here on leaves this installation
	}
	if err == nil {
		return p, r.discard(old)
	}
	r.swapping.Lock()
	defer r.swapping.Unlock()
	undone := os.Rename(target, staged.Dir)
	if undone == nil && replaced {
		undone = os.Rename(old, target)
	}
	return nil, errors.Join(err, undone)
}

// discard removes a folder. It renames the folder first, so that a half-removed one is never restored.
func (r *Root) discard(dir string) error {
	gone, err := os.MkdirTemp(r.opts.Dir, stagePrefix)
	if err == nil {
		err = os.Rename(dir, filepath.Join(gone, filesFolder))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(gone))
}

// swap moves the folder staged to target. If target existed, replaced is set and its content is in old.
func (r *Root) swap(staged, target, old string) (replaced bool, err error) {
	r.swapping.Lock()
	defer r.swapping.Unlock()
	err = os.Rename(target, old)
	if replaced = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err = os.Rename(staged, target); err != nil && replaced {
		err = errors.Join(err, os.Rename(old, target))
	}
	return replaced, err
}

// settle finishes what a crash interrupted: it undoes an installation whose hook did not end, and keeps one whose hook
// did.
func (r *Root) settle() error {
	entries, err := os.ReadDir(r.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the plugins: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(r.opts.Dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), stagePrefix):
			err = errors.Join(err, os.RemoveAll(path))
		case strings.HasPrefix(entry.Name(), oldPrefix):
		default:
			if pending := installed(path).Pending; pending != "" {
				subprocess.KillMarked((&turn{id: pending}).mark())
				err = errors.Join(err, r.discard(path))
			}
		}
	}
	for _, entry := range entries {
		name, replaced := strings.CutPrefix(entry.Name(), oldPrefix)
		if !replaced {
			continue
		}
		path, target := filepath.Join(r.opts.Dir, entry.Name()), filepath.Join(r.opts.Dir, name)
		if _, missing := os.Stat(target); missing == nil { // the new version is complete
			err = errors.Join(err, r.discard(path))
		} else {
			err = errors.Join(err, os.Rename(path, target))
		}
	}
	return err
}

// The hooks.
const hookInstall, hookUninstall = "install", "uninstall"

// hook runs install or uninstall if the plugin has it. The hook continues if the caller leaves, because it may be half
// done.
func (p *Plugin) hook(ctx context.Context, name string) error {
	path := filepath.Join(p.Dir, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	opts, now := p.root.opts, p.root.turns.hook(p.Folder(), name, cmp.Or(p.Installed.Pending, randomID()))
	defer p.root.turns.end(now)
	out, err := subprocess.Process{
		// downloads in hooks print a lot
		Argv: []string{path, p.Folder()}, Dir: p.Dir, Limit: opts.HookTimeout, Stdout: opts.MaxStdout, Stderr: opts.MaxStdout,
		Env: p.environ(nil, map[string]string{"TMPDIR": p.Dir, "HOME": p.Dir, callID: now.id}), Mark: now.mark(),
	}.Run(context.WithoutCancel(ctx))
	switch {
	case errors.Is(err, subprocess.ErrLate):
		return &Error{Reason: Timeout, Plugin: p.Folder(), Command: name, Err: err,
			Detail: fmt.Sprintf("the hook did not end within %s and was killed", opts.HookTimeout),
			Next:   "see what the hook waits for, or report it to the plugin's author"}
	case err != nil:
		return p.ended(name, out, err)
	}
	_, err = p.answer(name, out)
	return err
}
