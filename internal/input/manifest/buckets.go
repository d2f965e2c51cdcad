package manifest

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// bucketValues looks up variables that the environment lacks in the buckets of a source's objects: first each object's
// own, then those that its env_from names (the last first), then its scope's. It requests a bucket only when it needs
// one.
type bucketValues struct {
	src    *source
	format string
	find   lookup
	ask    func(scope, name, key string) (value string, found bool, err error)

	buckets [][2]string
	read    bool
	// known holds the variables that were found, missing those that no bucket has.
	known   map[string]string
	missing map[string]bool
	err     error
}

// lookup returns the environment, then the buckets.
func (b *bucketValues) lookup(name string) (string, bool) {
	if value, found := b.find(name); found {
		return value, true
	}
	if value, found := b.known[name]; found {
		return value, true
	}
	if b.ask == nil || b.missing[name] {
		return "", false
	}
	if !b.read {
		b.read, b.buckets = true, bucketsOf(b.src, b.format)
	}
	for _, bucket := range b.buckets {
		if b.err != nil {
			break
		}
		value, found, err := b.ask(bucket[0], bucket[1], name)
		if err != nil {
			b.err = err
		} else if found {
			b.known[name] = value
			return value, true
		}
	}
	b.missing[name] = true
	return "", false
}

// bucketsOf returns the buckets (scope and name; an empty name is the scope's own) that a source refers to. Every
// variable is read as 0 for that: a name that holds a variable has no bucket.
func bucketsOf(src *source, format string) (buckets [][2]string) {
	ignored := func(string) (string, bool) { return "0", true }
	var own, others, scopes [][2]string
	for _, d := range parse(newSource(src.name, src.dir, src.text), format, ignored, &faults{}) {
		own = append(own, [2]string{d.object.Scope, d.object.Name})
		scopes = append(scopes, [2]string{d.object.Scope, ""})
		entries, _ := d.spec["env_from"].([]any)
		for _, entry := range slices.Backward(entries) {
			text, _ := entry.(string)
			scope, name, two := strings.Cut(text, "/")
			if !two {
				scope, name = d.object.Scope, text
			}
			others = append(others, [2]string{scope, name})
			scopes = append(scopes, [2]string{scope, ""})
		}
	}
	listed := map[[2]string]bool{{}: true}
	for _, bucket := range slices.Concat(own, others, scopes) {
		if bucket[0] != "" && bucket[0] != api.Unscoped && !listed[bucket] { // an object without a scope has no bucket
			listed[bucket] = true
			buckets = append(buckets, bucket)
		}
	}
	return buckets
}
