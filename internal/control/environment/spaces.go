package environment

import (
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/store/records"
)

// Spaces resolves the references of an object's webhooks: facts of other objects, and values of buckets, decrypted now.
// Errors contain no values.
func (e *Environments) Spaces(s records.Snapshot, ref api.Ref, envFrom []string) reference.Spaces {
	return reference.Spaces{
		api.SpaceRef:    facts(s, ref),
		api.SpaceConfig: func(r api.Reference) (string, error) { return e.configured(s, ref, envFrom, r) },
	}
}

// configured returns the value of a ${config.…}. If several buckets have it, the last one wins.
func (e *Environments) configured(s records.Snapshot, ref api.Ref, envFrom []string, r api.Reference) (string, error) {
	buckets, key := env.OfReference(ref, envFrom, r)
	for _, bucket := range slices.Backward(buckets) {
		record, found := s.Get(prefixOf(bucket) + key)
		if !found {
			continue
		}
		sealed, ok := record.Value.([]byte)
		if !ok {
			return "", fmt.Errorf("%s: config value %s is unreadable", r.Text, record.Key)
		}
		value, err := e.open(record.Key, record.Modified, sealed)
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.Text, err)
		}
		return value, nil
	}
	nearest := buckets[len(buckets)-1]
	return "", fmt.Errorf("%s: there is no config value %s; set it with tend config set %s/%s %s=…", r.Text, key,
		nearest.Scope, nearest.Name, key)
}

// Confines reports whether one who isn't trusted decides a part of an address that an object declares: by a config
// value, or by another object, that it refers to. A call of such an address is as confined as one of theirs.
func Confines(s records.Snapshot, ref api.Ref, envFrom []string, address string) bool {
	what, _ := Confining(s, ref, envFrom, address)
	return what != ""
}

// Confining returns what makes Confines true of an address, and what an admin can do about it; empty if nothing does.
func Confining(s records.Snapshot, ref api.Ref, envFrom []string, address string) (what, next string) {
	for _, r := range reference.Find(address) {
		if r.Check() != nil {
			continue // it stands for nothing
		}
		switch r.Space {
		case api.SpaceRef:
			target, _ := r.Target(ref.Scope)
			if object := s.Object(target); object.Exists() && object.Value.Confined() {
				return target.String() + ", which no admin declared", "have an admin apply it"
			}
		case api.SpaceConfig:
			buckets, key := env.OfReference(ref, envFrom, r)
			for _, bucket := range slices.Backward(buckets) {
				if _, found := s.Get(prefixOf(bucket) + key); !found {
					continue
				}
				if _, marked := s.Get(records.ConfinedKey(prefixOf(bucket) + key)); marked {
					at := bucket.Scope
					if bucket.Name != "" {
						at += "/" + bucket.Name
					}
					return "the config value " + key + " of " + at + ", which no admin set last",
						"have an admin set it again: tend config set " + at + " " + key + "=…"
				}
				break
			}
		}
	}
	return "", ""
}

// prefixOf returns the store prefix of a bucket's values.
func prefixOf(b env.Bucket) string {
	if b.Name == "" {
		return records.ConfigScopePrefix(b.Scope)
	}
	return records.ConfigAppPrefix(b.Scope, b.Name)
}
