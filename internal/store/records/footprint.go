package records

import (
	"iter"
	"slices"

	"tend.dev/tend/internal/store/view"
)

// Footprint is the set of reads that a decision made of a snapshot, with the revisions of the records found. If a later
// snapshot answers the same reads alike, the same decision at the same time has the same result. The zero value is
// empty.
type Footprint struct {
	lookups  []lookup
	kept     []kept
	fleeting bool
}

// lookup is one read and its answer: the number of records found, and the newest revision among them. Two different
// answers can't agree in both: a record written since has a revision above all earlier ones, and otherwise records can
// only be missing.
type lookup struct {
	find        find
	index, name string
	count       int
	newest      int64
}

// find is a method of Reader.
type find uint8

const (
	byKey find = iota
	byPrefix
	byIndex
)

// kept is a value that a reader caches across snapshots.
type kept struct {
	value any
	again func(Snapshot) any
}

// Into returns the snapshot with a footprint that records every read.
func (s Snapshot) Into(f *Footprint) Snapshot { return Snapshot{Reader: noting{s.Reader, f}} }

// Plain returns the snapshot without its footprint and without the writes that With added.
func (s Snapshot) Plain() Snapshot {
	for {
		switch r := s.Reader.(type) {
		case noting:
			s.Reader = r.Reader
		case ahead:
			s.Reader = r.Reader
		default:
			return s
		}
	}
}

// Kept adds to the footprint that a reader used a cached value. The value is the same for another snapshot if again
// returns it.
func (s Snapshot) Kept(value any, again func(Snapshot) any) {
	if n, ok := s.Reader.(noting); ok {
		n.footprint.kept = append(n.footprint.kept, kept{value, again})
	}
}

// Fleeting adds to the footprint that a reader used something that changes without a write, such as how long a node has
// been silent.
func (s Snapshot) Fleeting() {
	if n, ok := s.Reader.(noting); ok {
		n.footprint.fleeting = true
	}
}

// Holds reports whether a snapshot answers everything that was read as it was answered then.
func (f *Footprint) Holds(s Snapshot) bool {
	if f.fleeting {
		return false
	}
	for i := range f.lookups {
		if now := f.lookups[i].in(s.Reader); now != f.lookups[i] {
			return false
		}
	}
	return !slices.ContainsFunc(f.kept, func(k kept) bool { return k.again(s) != k.value })
}

// in returns the lookup with its answer in another snapshot.
func (l lookup) in(r Reader) lookup {
	l.count, l.newest = 0, 0
	var found iter.Seq[view.Record]
	switch l.find {
	case byKey:
		if record, ok := r.Get(l.name); ok {
			l.count, l.newest = 1, record.Modified
		}
		return l
	case byPrefix:
		found = r.Prefix(l.name)
	case byIndex:
		found = r.Index(l.index, l.name)
	}
	for record := range found {
		l.count, l.newest = l.count+1, max(l.newest, record.Modified)
	}
	return l
}

// noting is a Reader that records the reads in a footprint.
type noting struct {
	Reader
	footprint *Footprint
}

func (n noting) note(l lookup) {
	same := func(o lookup) bool { return o.find == l.find && o.name == l.name && o.index == l.index }
	if !slices.ContainsFunc(n.footprint.lookups, same) {
		n.footprint.lookups = append(n.footprint.lookups, l.in(n.Reader))
	}
}

func (n noting) Get(key string) (view.Record, bool) {
	n.note(lookup{find: byKey, name: key})
	return n.Reader.Get(key)
}

func (n noting) Prefix(prefix string) iter.Seq[view.Record] {
	n.note(lookup{find: byPrefix, name: prefix})
	return n.Reader.Prefix(prefix)
}

func (n noting) Index(name, value string) iter.Seq[view.Record] {
	n.note(lookup{find: byIndex, index: name, name: value})
	return n.Reader.Index(name, value)
}
