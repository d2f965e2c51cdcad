package simulation

import (
	"encoding/json"
	"path/filepath"
	"sync"

	"tend.dev/tend/internal/store/secret"
)

// keyring decrypts the server's secrets, with the key file in its root.
type keyring struct {
	mu     sync.Mutex
	keys   *secret.Keys
	opened map[string]map[string]string
	values map[string]string
}

// openEnv opens the environment of a release.
func (w *World) openEnv(sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	k := &w.keyring
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.opened[string(sealed)]; ok {
		return known, nil
	}
	plain, err := k.openLocked(w.root, sealed)
	if err != nil {
		return nil, err
	}
	merged := map[string]string{}
	if err := json.Unmarshal(plain, &merged); err != nil {
		return nil, err
	}
	k.opened[string(sealed)] = merged
	return merged, nil
}

// openValue decrypts one value of a bucket.
func (w *World) openValue(sealed []byte) (string, error) {
	k := &w.keyring
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.values[string(sealed)]; ok {
		return known, nil
	}
	plain, err := k.openLocked(w.root, sealed)
	if err == nil {
		k.values[string(sealed)] = string(plain)
	}
	return string(plain), err
}

func (k *keyring) openLocked(root string, sealed []byte) ([]byte, error) {
	if k.keys == nil {
		keys, err := secret.Open(filepath.Join(root, "secret.key"), "")
		if err != nil {
			return nil, err
		}
		k.keys, k.opened, k.values = keys, map[string]map[string]string{}, map[string]string{}
	}
	return k.keys.Decrypt(sealed)
}
