package view

// watches are the running watches by prefix, so that a commit is compared with each prefix once.
type watches map[string]map[*Watch]struct{}

func (all watches) add(w *Watch) {
	group := all[w.options.Prefix]
	if group == nil {
		group = map[*Watch]struct{}{}
		all[w.options.Prefix] = group
	}
	group[w] = struct{}{}
}

func (all watches) remove(w *Watch) {
	group := all[w.options.Prefix]
	delete(group, w)
	if len(group) == 0 {
		delete(all, w.options.Prefix)
	}
}

// offer offers a commit to all.
func (all watches) offer(c commit) {
	for prefix, group := range all {
		changes := under(prefix, c.changes)
		if len(changes) == 0 {
			continue
		}
		for w := range group {
			w.offer(c.revision, changes)
		}
	}
}

// begin ends the watches that asked for changes from before the first listing.
func (all watches) begin(revision int64) {
	for _, group := range all {
		for w := range group {
			if w.options.From > 0 && w.options.From <= revision {
				w.end(ErrGone)
			}
		}
	}
}
