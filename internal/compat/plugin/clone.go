package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tend.dev/tend/internal/platform/gitcmd"
)

// errLarge ends a clone that is too large.
var errLarge = fmt.Errorf("it is larger than %s, or holds more than %d files", size(maxPlugin), maxEntries)

// Shown returns a source in the form for output and logs: without the credentials of its URL.
func Shown(source string) string { return gitcmd.Shown(source) }

// clone makes git fetch one commit.
func (r *Root) clone(ctx context.Context, from source, version, into string) error {
	out, err := gitcmd.Run(ctx, r.opts.Git, gitcmd.Call{
		Access: gitcmd.Access{URL: from.where}, Dir: r.opts.Dir, Env: r.inherited(), Limit: fetchTime,
		TooLarge: func() error { return tooLarge(into) },
		Args: func(repository string) []string {
			args := []string{"clone", "--quiet", "--template=", "--depth=1", "--single-branch", "--no-tags",
				"--no-recurse-submodules"}
			if pinned := pin(version); pinned != "" {
				args = append(args, "--branch", "v"+pinned)
			}
			return append(args, "--", repository, into)
		},
	})
	switch {
	case errors.Is(err, errLarge):
		return badSource(from.text, "take out of the repository what the plugin doesn't need", "%s", err)
	case err != nil:
		return badSource(from.text, "see that git is installed and that the repository answers", "git: %s", err)
	case out.Code != 0:
		next := "see that the repository exists and can be read without a password"
		if version != "" {
			next = fmt.Sprintf("see that the repository has a tag v%s", pin(version))
		}
		return badSource(from.text, next, "git: %s", clipped(string(out.Stderr)))
	}
	if err := os.RemoveAll(filepath.Join(into, ".git")); err != nil {
		return err
	}
	if err := tooLarge(into); err != nil { // it grew since it was measured last
		return badSource(from.text, "take out of the repository what the plugin doesn't need", "%s", err)
	}
	return nil
}

// tooLarge measures a clone. While there is a .git with its packed files, the bound is twice that of a plugin.
func tooLarge(folder string) error {
	limit, entries := int64(maxPlugin), maxEntries
	if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
		limit, entries = 2*limit, 2*entries
	}
	if gitcmd.Exceeds(folder, limit, entries) {
		return errLarge
	}
	return nil
}
