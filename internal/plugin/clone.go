package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

const (
	// maxGitWords bounds git's output.
	maxGitWords = 1 << 20
	// measureEvery is how often a running clone is measured: git itself has no size limit.
	measureEvery = 500 * time.Millisecond
)

// errLarge ends a clone that is too large.
var errLarge = fmt.Errorf("it is larger than %s, or holds more than %d files", size(maxPlugin), maxEntries)

// clone has git fetch one commit. It prompts for nothing, runs no hook, follows no submodule, and uses only the usual
// transports: a remote helper (ext::, or any installed git-remote-x) would be a program of the source's choice.
func (r *Root) clone(ctx context.Context, from source, version, into string) error {
	repository, access, credentials := withoutCredentials(from.where)
	argv := append([]string{r.opts.Git, "-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false"}, access...)
	argv = append(argv, "clone", "--quiet", "--template=", "--depth=1", "--single-branch", "--no-tags", "--no-recurse-submodules")
	if pinned := pin(version); pinned != "" {
		argv = append(argv, "--branch", "v"+pinned)
	}
	env := r.inherited()
	maps.Copy(env, map[string]string{"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_ALLOW_PROTOCOL": "https:http:git:ssh:file", "GIT_LFS_SKIP_SMUDGE": "1"})
	maps.Copy(env, credentials)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	measured := make(chan struct{})
	go func() { defer close(measured); measure(ctx, into, cancel) }()
	out, err := process{
		argv: append(argv, "--", repository, into), dir: r.opts.Dir, env: lines(env), limit: fetchTime,
		stdout: maxGitWords, stderr: maxGitWords,
	}.run(ctx)
	cancel(nil)
	<-measured
	switch {
	case errors.Is(err, errLarge):
		return badSource(from.text, "take out of the repository what the plugin doesn't need", "%s", err)
	case err != nil:
		return badSource(from.text, "see that git is installed and that the repository answers", "git: %s", err)
	case out.code != 0:
		next := "see that the repository exists and can be read without a password"
		if version != "" {
			next = fmt.Sprintf("see that the repository has a tag v%s", pin(version))
		}
		return badSource(from.text, next, "git: %s", clipped(string(out.stderr)))
	}
	if err := os.RemoveAll(filepath.Join(into, ".git")); err != nil {
		return err
	}
	if tooLarge(into) { // it grew since it was measured last
		return badSource(from.text, "take out of the repository what the plugin doesn't need", "%s", errLarge)
	}
	return nil
}

// measure ends a clone that grows too large, until ctx ends.
func measure(ctx context.Context, folder string, end context.CancelCauseFunc) {
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if tooLarge(folder) {
				end(errLarge)
			}
		}
	}
}

// tooLarge measures a folder that may change meanwhile: it doesn't count what it can't read. A clone has its packed
// files besides the checked-out ones, so the bound is twice that of a plugin while there is a .git.
func tooLarge(folder string) bool {
	limit, entries := int64(maxPlugin), maxEntries
	if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
		limit, entries = 2*limit, 2*entries
	}
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone, or unreadable
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			limit -= info.Size()
		}
		if entries--; limit < 0 || entries < 0 {
			return filepath.SkipAll
		}
		return nil
	})
	return limit < 0 || entries < 0
}
