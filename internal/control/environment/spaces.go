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

// prefixOf returns the store prefix of a bucket's values.
func prefixOf(b env.Bucket) string {
	if b.Name == "" {
		return records.ConfigScopePrefix(b.Scope)
	}
	return records.ConfigAppPrefix(b.Scope, b.Name)
}
