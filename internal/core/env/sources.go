package env

import (
	"bytes"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Bucket names the config values of a scope, or with Name those of one app in it.
type Bucket struct{ Scope, Name string }

// Source is one entry of the order: an env_from entry, or with an empty Entry the object itself.
type Source struct {
	Entry string
	// Buckets of the source, lowest first.
	Buckets []Bucket
}

// Sources returns the sources below an object's own env, lowest first.
func Sources(ref api.Ref, envFrom []string) []Source {
	out := make([]Source, 0, len(envFrom)+1)
	for _, entry := range envFrom {
		from := named(ref.Scope, entry)
		source := Source{Entry: entry, Buckets: []Bucket{from}}
		if from.Scope != ref.Scope {
			source.Buckets = []Bucket{{Scope: from.Scope}, from}
		}
		out = append(out, source)
	}
	return append(out, Source{Buckets: []Bucket{{Scope: ref.Scope}, {Scope: ref.Scope, Name: ref.Name}}})
}

// named parses scope/name, or a name in the given scope.
func named(scope, entry string) Bucket {
	if other, name, found := strings.Cut(entry, "/"); found {
		return Bucket{Scope: other, Name: name}
	}
	return Bucket{Scope: scope, Name: entry}
}

// ReadBy reports whether the environment of a stored object includes a bucket.
func ReadBy(object api.Object, bucket Bucket) bool {
	if bucket.Scope == object.Scope && (bucket.Name == "" || bucket.Name == object.Name) {
		return true
	}
	if !bytes.Contains(object.Spec, []byte(`"env_from"`)) && !bytes.Contains(object.Spec, []byte("${config.")) {
		return false
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	return err == nil && (Reads(object.Ref(), spec.EnvFrom, bucket) || refersTo(object.Ref(), spec.Container, bucket))
}

// refersTo reports whether a variable of the declaration refers to a value of the bucket by ${config.…}.
func refersTo(ref api.Ref, declared api.Container, bucket Bucket) bool {
	for _, text := range declared.Env {
		for _, r := range api.References(text) {
			if r.Space != api.SpaceConfig || r.Escaped || r.Check() != nil {
				continue
			}
			if buckets, _ := OfReference(ref, declared.EnvFrom, r); slices.Contains(buckets, bucket) {
				return true
			}
		}
	}
	return false
}

// Reads reports whether an object's environment includes a bucket.
func Reads(ref api.Ref, envFrom []string, bucket Bucket) bool {
	return slices.ContainsFunc(Sources(ref, envFrom), func(source Source) bool {
		return slices.Contains(source.Buckets, bucket)
	})
}
