package backup

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Contents holds the records of a snapshot of the store. It is a records.Reader without indexes.
type Contents struct {
	revision int64
	records  map[string]view.Record
	keys     []string
}

// NewContents decodes the entries of a snapshot. Its error names the entry that can't be decoded.
func NewContents(entries map[string]store.Entry, revision int64) (*Contents, error) {
	c := &Contents{revision: revision, records: make(map[string]view.Record, len(entries)),
		keys: make([]string, 0, len(entries))}
	for key, entry := range entries {
		value, err := records.Decode(key, entry.Value)
		if err != nil {
			return nil, err
		}
		c.records[key] = view.Record{Key: key, Value: value, Created: entry.Created, Modified: entry.Modified}
		c.keys = append(c.keys, key)
	}
	slices.Sort(c.keys)
	return c, nil
}

// Revision implements records.Reader.
func (c *Contents) Revision() int64 { return c.revision }

// Get implements records.Reader.
func (c *Contents) Get(key string) (view.Record, bool) {
	record, ok := c.records[key]
	return record, ok
}

// Prefix implements records.Reader.
func (c *Contents) Prefix(prefix string) iter.Seq[view.Record] {
	from, _ := slices.BinarySearch(c.keys, prefix)
	return func(yield func(view.Record) bool) {
		for _, key := range c.keys[from:] {
			if !strings.HasPrefix(key, prefix) || !yield(c.records[key]) {
				return
			}
		}
	}
}

// Index implements records.Reader: there are no indexes.
func (c *Contents) Index(string, string) iter.Seq[view.Record] {
	return func(func(view.Record) bool) {}
}

// Since implements records.Reader: there is no history.
func (c *Contents) Since(int64) (iter.Seq[view.Change], bool) { return nil, false }

// Blobs returns the digests that the snapshot refers to, in order.
func (c *Contents) Blobs() []string {
	var out []string
	for digest := range (records.Snapshot{Reader: c}).ReferredFiles() {
		if digest != "" {
			out = append(out, digest)
		}
	}
	slices.Sort(out)
	return out
}

// Cluster returns the uid of the cluster, and the fingerprint of its keys. It returns an error if the snapshot has
// none.
func (c *Contents) Cluster() (uid, fingerprint string, err error) {
	known := (records.Snapshot{Reader: c}).Identity()
	if !known.Exists() || known.Value.UID == "" {
		return "", "", fmt.Errorf("%w: its store belongs to no cluster", ErrDamaged)
	}
	return known.Value.UID, known.Value.KeyFingerprint, nil
}

// Count returns the number of records below a prefix.
func (c *Contents) Count(prefix string) (n int) {
	for range c.Prefix(prefix) {
		n++
	}
	return n
}
