package env

import (
	"maps"
	"slices"
)

// Change is a planned change of one bucket. The zero value changes nothing.
type Change struct {
	Bucket Bucket
	Set    map[string]string
	Unset  []string
}

// Over returns a bucket's values after the change.
func (c Change) Over(bucket Bucket, values map[string]string) map[string]string {
	if bucket != c.Bucket || len(c.Set)+len(c.Unset) == 0 {
		return values
	}
	out := map[string]string{}
	maps.Copy(out, values)
	maps.Copy(out, c.Set)
	for _, key := range c.Unset {
		delete(out, key)
	}
	return out
}

// Replaces reports whether the change replaces or removes a value of a bucket.
func (c Change) Replaces(bucket Bucket, key string) bool {
	if bucket != c.Bucket {
		return false
	}
	_, set := c.Set[key]
	return set || slices.Contains(c.Unset, key)
}
