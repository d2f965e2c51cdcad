package environment

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// Environments builds environments. It decrypts each value once per revision. It is safe for concurrent use.
type Environments struct {
	sealer control.Sealer
	mu     sync.Mutex
	opened map[string]opened // by key
}

type opened struct {
	modified int64
	value    string
}

// maxOpened bounds how many values are kept in plain text.
const maxOpened = 100_000

// New returns an Environments for values that the sealer decrypts.
func New(sealer control.Sealer) *Environments {
	return &Environments{sealer: sealer, opened: map[string]opened{}}
}

// Resolve returns the environment of an object, including the contents of its secret files (see env.Split), and its
// declaration with the references to other objects replaced. ${config.…} stays as written there, since a declaration is
// stored in plain text. Resolve takes the declared container, not one that was resolved before. The error is an *Error
// if a person, or another object, has to change something first.
func (e *Environments) Resolve(s records.Snapshot, ref api.Ref, declared api.Container) (api.Container,
	map[string]string, error) {
	return e.resolve(s, ref, declared, env.Change{})
}

func (e *Environments) resolve(s records.Snapshot, ref api.Ref, declared api.Container, change env.Change,
) (api.Container, map[string]string, error) {
	resolved, err := expand(s, ref, declared)
	if err != nil {
		return declared, nil, unresolved(err)
	}
	values := func(b env.Bucket) (map[string]string, error) {
		values, err := e.values(s, b, change)
		if err != nil {
			return nil, err
		}
		return change.Over(b, values), nil
	}
	complete := resolved
	if complete.Env, err = variables(s, ref, declared, values); err != nil {
		return resolved, nil, unmerged(ref, err)
	}
	merged, err := env.Merge(ref, complete, env.Buckets{Values: values, Withheld: certificateKeys(s, ref)})
	if err != nil {
		return resolved, nil, unmerged(ref, err)
	}
	return resolved, merged, nil
}

// values decrypts a bucket, except for the keys that a change replaces: the change may be the fix of a key that can't
// be decrypted.
func (e *Environments) values(s records.Snapshot, b env.Bucket, change env.Change) (map[string]string, error) {
	prefix := prefixOf(b)
	values := map[string]string{}
	for record := range s.Prefix(prefix) {
		key := strings.TrimPrefix(record.Key, prefix)
		if change.Replaces(b, key) {
			continue
		}
		sealed, ok := record.Value.([]byte)
		if !ok {
			return nil, fmt.Errorf("config value %s is unreadable", record.Key)
		}
		value, err := e.open(record.Key, record.Modified, sealed)
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	return values, nil
}

func (e *Environments) open(key string, modified int64, sealed []byte) (string, error) {
	e.mu.Lock()
	known, ok := e.opened[key]
	e.mu.Unlock()
	if ok && known.modified == modified {
		return known.value, nil
	}
	plain, err := e.sealer.Decrypt(sealed)
	if err != nil {
		return "", fmt.Errorf("decrypt %s: %w", key, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.opened) >= maxOpened {
		clear(e.opened)
	}
	e.opened[key] = opened{modified: modified, value: string(plain)}
	return string(plain), nil
}

// Hash identifies an environment without revealing it.
func (e *Environments) Hash(merged map[string]string) (string, error) {
	canonical, err := json.Marshal(merged) // keys sorted
	if err != nil {
		return "", err
	}
	return e.sealer.HMAC(canonical), nil
}

// Seal encrypts an environment for a release.
func (e *Environments) Seal(merged map[string]string) ([]byte, error) {
	canonical, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	return e.sealer.Encrypt(canonical)
}

// HashAfter returns the hash of the environment that a stored object will have after a change of a bucket.
func (e *Environments) HashAfter(s records.Snapshot, object api.Object, change env.Change) (string, error) {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return "", err
	}
	_, merged, err := e.resolve(s, object.Ref(), spec.Container, change)
	if err != nil {
		return "", err
	}
	return e.Hash(merged)
}
