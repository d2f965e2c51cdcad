package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/layout"
)

// environment merges what a container's environment is made of. Values are decrypted once per revision.
type environment struct {
	sealer control.Sealer
	mu     sync.Mutex
	opened map[string]opened // by key
}

type opened struct {
	modified int64
	value    string
}

// merged is the environment of a deployment, lowest to highest: the scope's bucket, the app's bucket, the spec.
func (e *environment) merged(s layout.Snapshot, ref api.Ref, spec api.DeploymentSpec) (map[string]string, error) {
	env := map[string]string{}
	for _, prefix := range []string{layout.ConfigScopePrefix(ref.Scope), layout.ConfigAppPrefix(ref.Scope, ref.Name)} {
		if err := e.bucket(s, prefix, env); err != nil {
			return nil, err
		}
	}
	maps.Copy(env, spec.Env)
	return env, nil
}

func (e *environment) bucket(s layout.Snapshot, prefix string, into map[string]string) error {
	for record := range s.Prefix(prefix) {
		sealed, ok := record.Value.([]byte)
		if !ok {
			return fmt.Errorf("config value %s is unreadable", record.Key)
		}
		value, err := e.open(record.Key, record.Modified, sealed)
		if err != nil {
			return err
		}
		into[strings.TrimPrefix(record.Key, prefix)] = value
	}
	return nil
}

func (e *environment) open(key string, modified int64, sealed []byte) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.opened[key]; ok && known.modified == modified {
		return known.value, nil
	}
	plain, err := e.sealer.Decrypt(sealed)
	if err != nil {
		return "", fmt.Errorf("decrypt %s: %w", key, err)
	}
	if e.opened == nil || len(e.opened) > 100_000 {
		e.opened = map[string]opened{}
	}
	e.opened[key] = opened{modified: modified, value: string(plain)}
	return string(plain), nil
}

// hash identifies an environment without giving it away.
func (e *environment) hash(env map[string]string) (string, error) {
	canonical, err := json.Marshal(env) // keys sorted
	if err != nil {
		return "", err
	}
	return e.sealer.HMAC(canonical), nil
}

// seal encrypts an environment for a release.
func (e *environment) seal(env map[string]string) ([]byte, error) {
	canonical, err := json.Marshal(env)
	if err != nil {
		return nil, err
	}
	return e.sealer.Encrypt(canonical)
}
