package syncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/source"
)

// fetched holds what is known of a source in this process.
//
// A poll of a disk that doesn't answer may never end. So it holds nothing that others need: it has the turn, for which
// the next poll waits no longer than endTime. An apply doesn't wait for it, another source is fetched into a folder of
// its own, and the folder of a sync that is gone is removed when its last user ends.
type fetched struct {
	folder string
	// turn is held by the poll that goes on.
	turn lock
	// users counts the polls and applies that have it, and dropped is set once nothing else needs it: its last user
	// removes the folder. Both are guarded by the Syncer's mu.
	users   int
	dropped bool

	// tip is held while the tree is replaced or applied. It guards what an apply reads: spec, revision and files, which
	// only the poll that has the turn writes.
	tip lock
	// spec is the spec that it was fetched for; with another one it is fetched again. The Syncer's mu guards it too.
	spec     string
	revision string
	files    []source.File
	// id is the target of a repository's ref when revision was fetched and verified: a commit, or a tag of it.
	id string
	// tidied is the size of a repository's copy when it held nothing but what a revision needs; 0 if that is not known.
	tidied int64
}

// lock is a mutex for which a context ends the wait.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

func (l lock) take(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l lock) give() { <-l }

// endTime is the time that a poll may take to end after it was cancelled.
const endTime = 2 * time.Second

var uidForm = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

func (f *fetched) tree() string { return filepath.Join(f.folder, "tree") }

// enter returns what is known of a sync's source, for use until leave. A poll makes its folder.
func (s *Syncer) enter(uid string) (*fetched, error) {
	if !uidForm().MatchString(uid) {
		return nil, fmt.Errorf("%q is not a uid", uid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.known[uid]
	if f == nil {
		f = s.newLocked(uid)
	}
	f.users++
	return f, nil
}

// newLocked begins a sync's source in a folder that no earlier poll uses: one that hangs may still write into its own.
func (s *Syncer) newLocked(uid string) *fetched {
	name := uid
	for n := 2; s.used[name]; n++ {
		name = fmt.Sprintf("%s.%d", uid, n)
	}
	f := &fetched{folder: filepath.Join(s.Folder, name), turn: newLock(), tip: newLock()}
	s.used[name], s.known[uid] = true, f
	return f
}

// leave ends the use of what enter returned.
func (s *Syncer) leave(f *fetched) {
	s.mu.Lock()
	f.users--
	last := f.dropped && f.users == 0
	s.mu.Unlock()
	if last {
		s.remove(f)
	}
}

func (s *Syncer) remove(f *fetched) {
	_ = os.RemoveAll(f.folder) // Keep removes what is left
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, filepath.Base(f.folder))
}

// Keep removes what was fetched for any other sync. It waits for no poll.
func (s *Syncer) Keep(uids []string) {
	entries, _ := os.ReadDir(s.Folder) // there is none before the first fetch
	for _, entry := range entries {
		uid, _, further := strings.Cut(entry.Name(), ".")
		if !uidForm().MatchString(uid) {
			continue
		}
		gone := !slices.Contains(uids, uid)
		if gone {
			s.Drop(uid)
		}
		s.mu.Lock()
		used := s.used[entry.Name()]
		s.mu.Unlock()
		if (gone || further) && !used { // an earlier process made it
			_ = os.RemoveAll(filepath.Join(s.Folder, entry.Name()))
		}
	}
}

// Drop removes what was fetched for a sync, or has its last user remove it. It waits for none.
func (s *Syncer) Drop(uid string) {
	s.mu.Lock()
	f := s.known[uid]
	delete(s.known, uid)
	unused := f != nil && f.users == 0
	if f != nil {
		f.dropped = true
	}
	s.mu.Unlock()
	if unused {
		s.remove(f)
	}
}

// begin waits for the turn to poll a sync, which end gives back. An earlier poll that doesn't end has another source
// fetched into a new folder; the same source is not asked twice at a time.
func (s *Syncer) begin(ctx context.Context, object api.Object, spec api.SyncSpec) (*fetched, error) {
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	for {
		f, err := s.enter(object.Metadata.UID)
		if err != nil {
			return nil, err
		}
		select {
		case f.turn <- struct{}{}:
			if err = s.forget(ctx, f, string(object.Spec)); err == nil {
				return f, nil
			}
			f.turn.give()
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timer.C:
			if !s.supersede(f, object) {
				err = source.NewFault(api.ReasonFetchFailed, nextSource,
					"%s: an earlier poll of it has not ended: it doesn't answer", spec.Source())
			}
		}
		s.leave(f)
		if err != nil {
			return nil, err
		}
	}
}

// end gives the turn back.
func (s *Syncer) end(f *fetched) {
	f.turn.give()
	s.leave(f)
}

// supersede begins a sync's source again, unless the poll that has the turn is of the same source.
func (s *Syncer) supersede(f *fetched, object api.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.dropped && f.spec == string(object.Spec) {
		return false
	}
	if s.known[object.Metadata.UID] == f {
		f.dropped = true
		s.newLocked(object.Metadata.UID)
	}
	return true
}

// forget has a poll fetch from the beginning, if what is known is of another spec.
func (s *Syncer) forget(ctx context.Context, f *fetched, spec string) error {
	if f.spec == spec {
		return nil
	}
	if err := f.tip.take(ctx); err != nil {
		return err
	}
	defer f.tip.give()
	s.mu.Lock()
	f.spec = spec
	s.mu.Unlock()
	f.revision, f.files, f.id = "", nil, ""
	return nil
}

// replace makes the tree of a revision by fill, which writes into an empty folder. If it fails, the tree before stays.
func (f *fetched) replace(
	ctx context.Context, revision string, stamped bool, fill func(folder string) error,
) error {
	fresh := filepath.Join(f.folder, "tree.new")
	if err := errors.Join(os.RemoveAll(fresh), os.Mkdir(fresh, 0o700)); err != nil {
		return err
	}
	if err := fill(fresh); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	files, err := list(fresh, stamped)
	if err != nil {
		return err
	}
	if err := f.tip.take(ctx); err != nil {
		return err
	}
	defer f.tip.give()
	if err := errors.Join(os.RemoveAll(f.tree()), os.Rename(fresh, f.tree())); err != nil {
		f.revision = ""
		return err
	}
	f.revision, f.files = revision, files
	return nil
}
