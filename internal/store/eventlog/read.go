package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
)

// The bounds of one read: the number of examined entries, and the default and maximal number of returned events.
const (
	maxEntries    = 2048
	DefaultEvents = 500
	MaxEvents     = 5000
)

// Query selects events. The zero value selects the oldest ones.
type Query struct {
	After Position
	// Last selects the newest events instead, among those before Before. A zero Before includes all events.
	Last   bool
	Before Position
	// Limit is the maximal number of events; default DefaultEvents. The events of one commit stay together even beyond
	// it.
	Limit int
	// Scope and Name select the events about one object, and those of commits that changed several.
	Scope, Name string
	// subject is the hash of Scope and Name.
	subject uint32
}

// Page is the result of a read.
type Page struct {
	Events []api.Event
	// Next is the position to continue from. More is set if there may already be events after it; for a query of the
	// last events, if there may be others before First.
	First, Next Position
	More        bool
}

// Next returns the events after a position, in order, at most about limit of them, and the position after them. It
// waits until there is an event. The error is a *GoneError if events after the position were deleted, or ctx's.
func (l *Log) Next(ctx context.Context, after Position, limit int) ([]api.Event, Position, error) {
	for {
		changed := l.Changed()
		page, err := l.Read(ctx, Query{After: after, Limit: limit})
		if err != nil || len(page.Events) > 0 {
			return page.Events, page.Next, err
		}
		after = page.Next
		if err := wait(ctx, changed); err != nil {
			return nil, after, err
		}
	}
}

// Read returns events after a position, in order. It doesn't wait for new ones, only for the first listing of the log.
// The error is a *GoneError if events after the position were deleted.
func (l *Log) Read(ctx context.Context, q Query) (Page, error) {
	for {
		changed := l.Changed()
		page, complete, err := l.read(ctx, q)
		if err != nil || complete {
			return page, err
		}
		// The log is not listed yet, or it doesn't know yet what was deleted.
		if err := wait(ctx, changed); err != nil {
			return Page{}, err
		}
	}
}

func wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read makes one attempt. complete is false if the log must read more keys first.
func (l *Log) read(ctx context.Context, q Query) (page Page, complete bool, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultEvents
	}
	chosen, next, more, err := l.choose(q, min(limit, MaxEvents))
	if err != nil || next.Revision < 0 {
		return Page{}, err != nil, err
	}
	if q.Last {
		return l.readAll(ctx, chosen, Page{Next: next, More: more})
	}
	values, err := l.values(ctx, chosen)
	if errors.Is(err, store.ErrNotFound) {
		return Page{}, false, nil
	}
	if err != nil {
		return Page{}, true, err
	}
	page = Page{Next: next, More: more}
	for i, value := range values {
		events, err := decode(l.opts.Source, chosen[i].revision, value)
		if err != nil {
			return Page{}, true, err
		}
		if chosen[i].revision == q.After.Revision {
			events = events[min(len(events), q.After.Index+1):]
		}
		page.Events = append(page.Events, events...)
		if len(page.Events) >= limit && i < len(values)-1 {
			page.Next, page.More = After(chosen[i].revision), true
			break
		}
	}
	return page, true, nil
}

// readAll adds the events of entries to a page.
func (l *Log) readAll(ctx context.Context, chosen []slot, page Page) (Page, bool, error) {
	values, err := l.values(ctx, chosen)
	if errors.Is(err, store.ErrNotFound) {
		return Page{}, false, nil
	}
	if err != nil {
		return Page{}, true, err
	}
	for i, value := range values {
		events, err := decode(l.opts.Source, chosen[i].revision, value)
		if err != nil {
			return Page{}, true, err
		}
		page.Events = append(page.Events, events...)
	}
	if len(chosen) > 0 {
		page.First = Position{Revision: chosen[0].revision}
	}
	return page, true, nil
}

// choose returns the entries to read, at most one for each event wanted. A next before the beginning means that the log
// is not listed yet.
func (l *Log) choose(q Query, limit int) (chosen []slot, next Position, more bool, err error) {
	q.subject = subjectHash(q.Scope, q.Name) // once, not for each entry under the lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return nil, Position{Revision: -1}, false, nil
	}
	if q.Last {
		chosen, more = l.newest(q, min(limit, maxEntries))
		return chosen, After(l.revision), more, nil
	}
	if q.After.Compare(After(l.floor)) < 0 {
		return nil, Position{}, false, &GoneError{Oldest: After(l.floor)}
	}
	from := sort.Search(len(l.slots), func(i int) bool { return After(l.slots[i].revision).Compare(q.After) > 0 })
	next = q.After
	for _, s := range l.slots[from:] {
		if len(chosen) == min(limit, maxEntries) {
			return chosen, next, true, nil
		}
		if q.wants(s) {
			chosen = append(chosen, s)
		}
		next = After(s.revision)
	}
	return chosen, next, false, nil
}

// wants reports whether an entry may contain selected events.
func (q Query) wants(s slot) bool {
	return q.Name == "" || s.subject == anySubject || s.subject == q.subject
}

// newest returns the newest entries before a position, in order. It requires mu.
func (l *Log) newest(q Query, limit int) (chosen []slot, more bool) {
	n := len(l.slots)
	if q.Before != (Position{}) {
		n = sort.Search(n, func(i int) bool { return l.slots[i].revision >= q.Before.Revision })
	}
	for n > 0 && len(chosen) < limit {
		n--
		if q.wants(l.slots[n]) {
			chosen = append(chosen, l.slots[n])
		}
	}
	slices.Reverse(chosen)
	return chosen, n > 0
}

// values returns the values of entries: from memory if they are new, else from the store. The error is
// store.ErrNotFound if one was deleted meanwhile.
func (l *Log) values(ctx context.Context, slots []slot) ([][]byte, error) {
	out := make([][]byte, len(slots))
	missing := 0
	l.mu.Lock()
	for i, s := range slots {
		if at, ok := slices.BinarySearchFunc(l.tail, s.revision,
			func(t tailed, r int64) int { return int(min(1, max(-1, t.revision-r))) }); ok {
			out[i] = l.tail[at].value
		} else {
			missing++
		}
	}
	l.mu.Unlock()
	if missing == 0 {
		return out, nil
	}
	places := map[string]int{}
	keys := make([]string, 0, missing)
	for i, s := range slots {
		if out[i] == nil {
			key := s.key(l.opts.Prefix)
			places[key], keys = i, append(keys, key)
		}
	}
	slices.Sort(keys)
	if err := l.list(ctx, keys, func(e store.Entry) {
		if i, wanted := places[e.Key]; wanted {
			out[i] = e.Value
			delete(places, e.Key)
		}
	}); err != nil {
		return nil, err
	}
	for key, i := range places { // entries whose keys are far from the others
		e, err := l.opts.Store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		out[i] = e.Value
	}
	return out, nil
}

// list reads the page that begins with the first key: it has most of the others, because keys are roughly in the order
// of the log. A few keys are not worth a page.
func (l *Log) list(ctx context.Context, keys []string, take func(store.Entry)) error {
	const few = 4
	if len(keys) <= few {
		return nil
	}
	first := keys[0]
	page, err := l.opts.Store.List(ctx, l.opts.Prefix,
		store.ListOptions{After: first[:len(first)-1], Limit: len(keys) + few})
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	for _, e := range page.Entries {
		take(e)
	}
	return nil
}
