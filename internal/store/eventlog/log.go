package eventlog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"tend.dev/tend/internal/store"
)

// The default bounds of the newest entries that are kept whole in memory.
const (
	tailEntries = 4096
	tailBytes   = 4 << 20
)

// Options are the options of a Log. Store, Prefix and Source are required.
type Options struct {
	// Store is read for entries that are not in memory.
	Store Store
	// Prefix is records.EventsPrefix or records.AuditPrefix.
	Prefix string
	// Source is the source of all events.
	Source string
	// Tail is the number of newest entries kept whole in memory, within 4 MiB. Default 4096.
	Tail int
}

// Store is the part of a store that reads.
type Store interface {
	Get(ctx context.Context, key string) (store.Entry, error)
	List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error)
}

// Log reads a log. A view feeds it, as the reader of its prefix. Safe for concurrent use.
type Log struct {
	opts Options

	// draft and draftFloor hold the result of a listing, tailDraft that of a commit: they belong to the view's goroutine.
	listing bool
	draft   []slot
	fresh   []tailed
	gone    map[string]struct{}
	// draftFloor is the newest floor that was read.
	draftFloor int64

	mu sync.Mutex
	// slots are all entries, by revision.
	slots []slot
	bytes int64
	// floor is the newest revision of which events were deleted, or 0.
	floor int64
	// revision is the revision up to which the log is complete; 0 before the first listing.
	revision int64
	tail     []tailed
	tailSize int
	// changed is closed, and replaced, when there is something new.
	changed chan struct{}
}

// tailed is an entry that is kept whole.
type tailed struct {
	slot
	value []byte
}

// New returns a Log. It is empty until a view has listed the store; see Aside.
func New(o Options) *Log {
	if o.Tail <= 0 {
		o.Tail = tailEntries
	}
	return &Log{opts: o, changed: make(chan struct{}), gone: map[string]struct{}{}}
}

// Restart begins a listing: the entries until Reached are the complete log.
func (l *Log) Restart() { l.listing, l.draft, l.fresh, l.draftFloor = true, nil, nil, 0; clear(l.gone) }

// Put adds an entry.
func (l *Log) Put(e store.Entry) {
	rest := strings.TrimPrefix(e.Key, l.opts.Prefix)
	if rest == floorName {
		l.draftFloor = parseFloor(e.Value)
		return
	}
	s, ok := parseKey(rest)
	if !ok {
		return
	}
	s.revision, s.size = e.Created, uint32(min(len(e.Value), 1<<31))
	if l.listing {
		l.draft = append(l.draft, s)
		return
	}
	l.fresh = append(l.fresh, tailed{slot: s, value: e.Value})
}

// Delete removes an entry.
func (l *Log) Delete(key string) { l.gone[key] = struct{}{} }

// Reached publishes the changes since the last call: the log is complete up to a revision.
func (l *Log) Reached(revision int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listing {
		l.install()
	} else {
		l.forget()
		l.extend()
	}
	if l.draftFloor > l.floor {
		l.floor = l.draftFloor
		l.wake()
	}
	l.revision = revision
	l.fresh, l.listing = nil, false
	clear(l.gone)
}

// install replaces the slots by those of a listing. It requires mu.
func (l *Log) install() {
	slices.SortFunc(l.draft, func(a, b slot) int { return cmp.Compare(a.revision, b.revision) })
	l.slots, l.draft, l.tail, l.tailSize, l.bytes = l.draft, nil, nil, 0, 0
	for _, s := range l.slots {
		l.bytes += int64(s.size)
	}
	l.wake()
}

// extend appends the entries of a commit. It requires mu.
func (l *Log) extend() {
	if len(l.fresh) == 0 {
		return
	}
	for _, t := range l.fresh {
		l.slots = append(l.slots, t.slot)
		l.bytes += int64(t.size)
		l.tail = append(l.tail, t)
		l.tailSize += len(t.value)
	}
	for len(l.tail) > l.opts.Tail || l.tailSize > tailBytes {
		l.tailSize -= len(l.tail[0].value)
		l.tail = l.tail[1:]
	}
	l.wake()
}

// forget removes the deleted entries, nearly always the oldest. It requires mu.
func (l *Log) forget() {
	if len(l.gone) == 0 {
		return
	}
	isGone := func(s slot) bool { _, gone := l.gone[s.key(l.opts.Prefix)]; return gone }
	left := len(l.gone)
	for len(l.slots) > 0 && left > 0 && isGone(l.slots[0]) {
		l.bytes -= int64(l.slots[0].size)
		l.slots, left = l.slots[1:], left-1
	}
	if left > 0 {
		l.slots = slices.DeleteFunc(slices.Clone(l.slots), func(s slot) bool {
			if isGone(s) {
				l.bytes -= int64(s.size)
				return true
			}
			return false
		})
	}
	for len(l.tail) > 0 && isGone(l.tail[0].slot) {
		l.tailSize -= len(l.tail[0].value)
		l.tail = l.tail[1:]
	}
}

// wake wakes the waiting readers. It requires mu.
func (l *Log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of the log.
func (l *Log) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// State describes the extent of a log.
type State struct {
	Entries int
	Bytes   int64
	// Oldest is the oldest position that can be read after, Newest the position after the last event, and Revision the
	// revision up to which the log is complete.
	Oldest, Newest Position
	Revision       int64
}

// State returns the current extent of the log.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := State{Entries: len(l.slots), Bytes: l.bytes, Oldest: After(l.floor), Newest: After(l.floor),
		Revision: l.revision}
	if n := len(l.slots); n > 0 {
		state.Newest = After(l.slots[n-1].revision)
	}
	return state
}
