package syncer

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tend.dev/tend/internal/platform/gitcmd"
)

// fetchedRef is the ref of the fetched commit or tag in Tend's copy.
const fetchedRef = "refs/tend/fetched"

// lockFiles lists the files that git leaves behind if it is killed while it writes.
var lockFiles = []string{"shallow.lock", "HEAD.lock", "config.lock", "packed-refs.lock", fetchedRef + ".lock"}

// The bounds of a copy beside its bytes: how many files it may have, and how many bytes before anything is deleted from
// it.
const (
	maxObjects = 100_000
	tidyFrom   = 1 << 20
)

// errLarge ends a call of git whose copy grows beyond its bound.
var errLarge = errors.New("the copy of the repository is too large")

// fetch fetches one commit, whatever was fetched before: a branch may have been forced to another history. Where the
// copy becomes too large with what is left of earlier ones, the commit is fetched into a new copy.
func (r *repository) fetch(ctx context.Context, name string) error {
	_, none := r.local(ctx, "rev-parse", "--git-dir") // there is no copy, or a part of one
	err := r.fetchInto(ctx, name, none != nil)
	if errors.Is(err, errLarge) && none == nil {
		err = r.fetchInto(ctx, name, true)
	}
	if errors.Is(err, errLarge) {
		_ = os.RemoveAll(r.folder)
		return r.s.tooLarge()
	}
	return err
}

// fetchInto fetches one commit into the copy, or into a new one.
func (r *repository) fetchInto(ctx context.Context, name string, fresh bool) error {
	if fresh {
		r.of.tidied = 0
		if err := errors.Join(os.RemoveAll(r.folder), os.MkdirAll(r.folder, 0o700)); err != nil {
			return err
		}
		if _, err := r.local(ctx, "init", "--quiet", "--bare", "--template=", "."); err != nil {
			return err
		}
	}
	r.unlock()
	_, err := r.git(ctx, 0, nil, func(repository string) []string {
		return []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
			"--no-write-fetch-head",
			"--force", "--", repository, "+" + name + ":" + fetchedRef}
	})
	if err == nil {
		err = r.large() // it may have ended before it was measured
	}
	return err
}

// unlock removes what a call of git that was cut off left behind; no other one runs.
func (r *repository) unlock() {
	for _, name := range lockFiles {
		_ = os.Remove(filepath.Join(r.folder, name))
	}
	kept, _ := filepath.Glob(filepath.Join(r.folder, "objects", "pack", "*.keep")) // the pattern is valid
	for _, name := range kept {
		_ = os.Remove(name)
	}
}

func (r *repository) large() error {
	if gitcmd.Exceeds(r.folder, r.s.MaxCopy, maxObjects) {
		return errLarge
	}
	return nil
}

// tidy deletes from the copy what the fetched revision doesn't need, once the copy is twice as large as after the last
// time. If that fails, the copy grows until the revision is fetched into a new one.
func (r *repository) tidy(ctx context.Context) {
	if !gitcmd.Exceeds(r.folder, max(2*r.of.tidied, tidyFrom), maxObjects/10) {
		return
	}
	for _, args := range [][]string{{"repack", "-a", "-d", "--quiet"}, {"prune", "--expire=now"}} {
		if _, err := r.local(ctx, args...); err != nil {
			return
		}
	}
	r.of.tidied = gitcmd.Size(r.folder)
}
