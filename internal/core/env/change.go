package env

import (
	"maps"
	"slices"
)

// Change is what is about to be done to one bucket. The zero value changes nothing.
type Change struct {
	Bucket Bucket
	Set    map[string]string
	Unset  []string
}

// Over is a bucket's values as they are after the change.
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

// Replaces says whether a value of a bucket doesn't matter any more after the change.
func (c Change) Replaces(bucket Bucket, key string) bool {
	if bucket != c.Bucket {
		return false
	}
	_, set := c.Set[key]
	return set || slices.Contains(c.Unset, key)
}
