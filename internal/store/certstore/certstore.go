package certstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/store"
)

// The prefixes of the store.
const (
	filesPrefix = "/certs/files/"
	locksPrefix = "/certs/locks/"
)

// lockLife is the time for which a lock outlives a server that died with it; a live server renews it three times in
// that period.
const lockLife = 15 * time.Second

// Sealer encrypts values that the store must not hold in plain text.
type Sealer interface {
	Encrypt(plain []byte) ([]byte, error)
	Decrypt(sealed []byte) ([]byte, error)
}

// Storage implements certmagic's storage on a store. Safe for concurrent use.
type Storage struct {
	store  store.Store
	sealer Sealer

	mu   sync.Mutex
	held map[string]*lock
}

var _ certmagic.Storage = (*Storage)(nil)

// New makes a Storage.
func New(s store.Store, sealer Sealer) *Storage {
	return &Storage{store: s, sealer: sealer, held: map[string]*lock{}}
}

// file is one stored value.
type file struct {
	Sealed   []byte    `json:"sealed"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// Store implements certmagic.Storage.
func (s *Storage) Store(ctx context.Context, key string, value []byte) error {
	record, err := s.Record(value)
	if err == nil {
		_, err = s.store.Commit(ctx, store.Txn{Site: "certs.store", Do: []store.Op{{Key: Path(key), Value: record}}})
	}
	return err
}

// Record returns the stored form of a value, for the key below its Path.
func (s *Storage) Record(value []byte) ([]byte, error) {
	sealed, err := s.sealer.Encrypt(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(file{Sealed: sealed, Size: int64(len(value)), Modified: time.Now().UTC()})
}

// Load implements certmagic.Storage.
func (s *Storage) Load(ctx context.Context, key string) ([]byte, error) {
	found, err := s.read(ctx, key)
	if err != nil {
		return nil, err
	}
	plain, err := s.sealer.Decrypt(found.Sealed)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return plain, nil
}

func (s *Storage) read(ctx context.Context, key string) (file, error) {
	var found file
	entry, err := s.store.Get(ctx, Path(key))
	if errors.Is(err, store.ErrNotFound) {
		return found, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(entry.Value, &found); err != nil {
		return found, fmt.Errorf("read %s: %w", key, err)
	}
	return found, nil
}

// deletedAtOnce is the number of keys that one commit deletes, because a store limits the size of a commit.
const deletedAtOnce = 1000

// Delete implements certmagic.Storage: it deletes a key with all keys below it, however many there are.
func (s *Storage) Delete(ctx context.Context, key string) error {
	page, err := s.store.List(ctx, Path(key)+"/", store.ListOptions{})
	if err != nil {
		return err
	}
	gone := []store.Op{{Key: Path(key), Delete: true}}
	for _, entry := range page.Entries {
		gone = append(gone, store.Op{Key: entry.Key, Delete: true})
	}
	for part := range slices.Chunk(gone, deletedAtOnce) {
		if _, err := s.store.Commit(ctx, store.Txn{Site: "certs.delete", Do: part}); err != nil {
			return err
		}
	}
	return nil
}

// Exists implements certmagic.Storage: as a file, or as a folder of files.
func (s *Storage) Exists(ctx context.Context, key string) bool {
	if _, err := s.store.Get(ctx, Path(key)); err == nil {
		return true
	}
	page, err := s.store.List(ctx, Path(key)+"/", store.ListOptions{Limit: 1})
	return err == nil && len(page.Entries) > 0
}

// List implements certmagic.Storage.
func (s *Storage) List(ctx context.Context, folder string, recursive bool) ([]string, error) {
	prefix := filesPrefix
	if folder = clean(folder); folder != "" {
		prefix += folder + "/"
	}
	page, err := s.store.List(ctx, prefix, store.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(page.Entries) == 0 {
		return nil, fmt.Errorf("%s: %w", folder, fs.ErrNotExist)
	}
	var out []string
	seen := map[string]bool{}
	for _, entry := range page.Entries {
		rest := strings.TrimPrefix(entry.Key, prefix)
		if child, _, below := strings.Cut(rest, "/"); below && !recursive {
			rest = child
		}
		if name := strings.TrimPrefix(prefix, filesPrefix) + rest; !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, nil
}

// Stat implements certmagic.Storage.
func (s *Storage) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	found, err := s.read(ctx, key)
	if err == nil {
		return certmagic.KeyInfo{Key: key, Modified: found.Modified, Size: found.Size, IsTerminal: true}, nil
	}
	if errors.Is(err, fs.ErrNotExist) && s.Exists(ctx, key) {
		return certmagic.KeyInfo{Key: key}, nil
	}
	return certmagic.KeyInfo{}, err
}

// Path returns the key of the store below which a value is.
func Path(key string) string { return filesPrefix + clean(key) }

func clean(key string) string { return strings.Trim(key, "/") }
