package view

import "sort"

// commit holds the changes of one revision. Its slice is shared by the history and every watch, and never written
// again.
type commit struct {
	revision int64
	changes  []Change
}

// history keeps the newest changes for watches that begin in the past.
type history struct {
	// limit is the number of changes kept, counted over all commits.
	limit   int
	commits []commit
	changes int
	// oldest is the first revision a watch may begin at.
	oldest int64
}

// begin records that everything up to a revision came from the first listing.
func (h *history) begin(revision int64) { h.oldest = revision + 1 }

// add appends a commit, and drops the oldest beyond the limit.
func (h *history) add(c commit) {
	h.commits = append(h.commits, c)
	h.changes += len(c.changes)
	for h.changes > h.limit {
		h.changes -= len(h.commits[0].changes)
		h.oldest = h.commits[0].revision + 1
		// The slice is only advanced, never cleared: a watch may be reading it. When it grows next, the old array is
		// released.
		h.commits = h.commits[1:]
	}
}

// since returns the commits from a revision on, and false if some are no longer kept.
func (h *history) since(revision int64) ([]commit, bool) {
	if revision < h.oldest {
		return nil, false
	}
	i := sort.Search(len(h.commits), func(i int) bool { return h.commits[i].revision >= revision })
	return h.commits[i:len(h.commits):len(h.commits)], true
}
