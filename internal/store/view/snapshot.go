package view

import (
	"cmp"
	"fmt"
	"iter"
	"sort"
	"strings"

	"github.com/google/btree"
)

// Record is one decoded entry of the store.
type Record struct {
	Key   string
	Value any
	// Created and Modified are the revisions of its first and last write.
	Created, Modified int64
}

// Snapshot is the state at one revision. Any number of goroutines may read it. It costs only the records changed since
// the last one.
type Snapshot struct {
	revision int64
	records  *btree.BTreeG[*Record]
	indexed  *btree.BTreeG[*indexed]
	indexes  []Index
	// recent are the newest commits up to the revision; they begin at oldest.
	recent []commit
	oldest int64
}

// Revision returns the snapshot's revision: everything committed up to it is included.
func (s *Snapshot) Revision() int64 { return s.revision }

// Len returns the number of records.
func (s *Snapshot) Len() int { return s.records.Len() }

// Since returns the changes after a revision, in commit order; false if that history is no longer known, or the
// snapshot is older. It lets a reader update data derived from records without reading all of them again.
func (s *Snapshot) Since(revision int64) (iter.Seq[Change], bool) {
	if revision+1 < s.oldest || revision > s.revision || s.revision == 0 {
		return nil, false
	}
	i := sort.Search(len(s.recent), func(i int) bool { return s.recent[i].revision > revision })
	return func(yield func(Change) bool) {
		for _, c := range s.recent[i:] {
			for _, change := range c.changes {
				if !yield(change) {
					return
				}
			}
		}
	}, true
}

// Get reads one record.
func (s *Snapshot) Get(key string) (Record, bool) {
	if r, ok := s.records.Get(&Record{Key: key}); ok {
		return *r, true
	}
	return Record{}, false
}

// Prefix reads the records under a prefix, in key order.
func (s *Snapshot) Prefix(prefix string) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		s.records.AscendGreaterOrEqual(&Record{Key: prefix}, func(r *Record) bool {
			return strings.HasPrefix(r.Key, prefix) && yield(*r)
		})
	}
}

// Index reads the records that have a value in an index, in key order. It panics if the index was never declared, since
// it would never find anything.
func (s *Snapshot) Index(name, value string) iter.Seq[Record] {
	number := -1
	for i := range s.indexes {
		if s.indexes[i].Name == name {
			number = i
		}
	}
	if number < 0 {
		panic(fmt.Sprintf("view: index %q is not declared", name))
	}
	return func(yield func(Record) bool) {
		s.indexed.AscendGreaterOrEqual(&indexed{index: number, value: value}, func(i *indexed) bool {
			return i.index == number && i.value == value && yield(*i.record)
		})
	}
}

// indexed is one record under one value of one index; the index tree orders them so that a lookup is a range.
type indexed struct {
	index  int
	value  string
	record *Record
}

func (i *indexed) before(other *indexed) bool {
	return cmp.Or(cmp.Compare(i.index, other.index), strings.Compare(i.value, other.value),
		strings.Compare(i.key(), other.key())) < 0
}

// key returns the record's key. It is empty in the pivot of a lookup, which therefore comes before every record.
func (i *indexed) key() string {
	if i.record == nil {
		return ""
	}
	return i.record.Key
}

// draft is the state that the feeding goroutine writes to. Its trees are copied on write: a snapshot is a clone that
// shares everything with it until the next change.
type draft struct{ Snapshot }

func newDraft(indexes []Index) *draft {
	return &draft{Snapshot{
		records: btree.NewG(32, func(a, b *Record) bool { return a.Key < b.Key }),
		indexed: btree.NewG(32, (*indexed).before),
		indexes: indexes,
	}}
}

func (p *draft) snapshot(revision int64, h history) *Snapshot {
	return &Snapshot{
		revision: revision, records: p.records.Clone(), indexed: p.indexed.Clone(), indexes: p.indexes,
		recent: h.commits[:len(h.commits):len(h.commits)], oldest: h.oldest,
	}
}

// put writes a record with its index values and returns the previous one.
func (p *draft) put(r *Record, values [][]string) *Record {
	old, existed := p.records.ReplaceOrInsert(r)
	if existed {
		p.unindex(old)
	}
	for i := range p.indexes {
		for _, value := range values[i] {
			p.indexed.ReplaceOrInsert(&indexed{i, value, r})
		}
	}
	return old
}

// remove deletes a record and returns it.
func (p *draft) remove(key string) *Record {
	old, existed := p.records.Delete(&Record{Key: key})
	if existed {
		p.unindex(old)
	}
	return old
}

func (p *draft) unindex(r *Record) {
	for i, index := range p.indexes {
		for _, value := range index.Keys(r.Key, r.Value) {
			p.indexed.Delete(&indexed{i, value, r})
		}
	}
}
