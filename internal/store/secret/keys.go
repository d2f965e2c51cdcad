package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"filippo.io/age"
)

// maxPlain bounds decrypted data: the values are environments, not files.
const maxPlain = 16 << 20

// Keys encrypt, decrypt and authenticate with one cluster's key material. During a rotation they hold the old and the
// new pair: one is in use, and data sealed with either can be decrypted. Safe for concurrent use.
type Keys struct {
	path string
	mu   sync.RWMutex
	// pairs are all that are held. The first is in use.
	pairs []pair
}

// pair holds the keys that a cluster uses at one time.
type pair struct {
	identity *age.X25519Identity
	// mac compares values without revealing them. A rotation keeps it: otherwise each environment would seem changed.
	mac []byte
	// callback authenticates the containers of plugins; empty before the first rotation, when mac does.
	callback []byte
}

// Open reads the key file. fingerprint is the one in the store's cluster record. If it is empty, as on the first boot,
// Open creates a missing file. Otherwise the file must exist and hold that key: a new key would leave every stored
// secret unreadable.
func Open(path, fingerprint string) (*Keys, error) {
	content, err := readPrivate(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && fingerprint == "":
		return create(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open %s: %w (fingerprint %s): restore the file from a backup; Tend never makes a new key "+
			"for a store that holds encrypted data", path, ErrKeyMissing, fingerprint)
	case err != nil:
		return nil, err
	}
	pairs, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w: restore it from a backup", path, ErrKeyFile, err)
	}
	keys := &Keys{path: path, pairs: pairs}
	if fingerprint != "" && !keys.prefer(fingerprint) {
		return nil, fmt.Errorf("open %s: %w: the store names %s, the file holds %s: restore the right file or data folder; "+
			"a server that was off while the keys were rotated joins again, with an empty --root",
			path, ErrKeyMismatch, fingerprint, keys.Fingerprint())
	}
	return keys, nil
}

func create(path string) (*Keys, error) {
	mac := make([]byte, 32)
	if _, err := rand.Read(mac); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	first, err := newPair(mac)
	if err != nil {
		return nil, err
	}
	if err := writePrivate(path, format(first)); err != nil {
		return nil, err
	}
	return &Keys{path: path, pairs: []pair{first}}, nil
}

func newPair(mac []byte) (pair, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return pair{}, fmt.Errorf("make a key: %w", err)
	}
	return pair{identity: identity, mac: mac}, nil
}

func (k *Keys) current() pair {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.pairs[0]
}

// Fingerprint identifies the keys in use without revealing any.
func (k *Keys) Fingerprint() string { return k.current().fingerprint() }

// fingerprint identifies a pair by hashes of its public parts, without revealing a key.
func (p pair) fingerprint() string {
	hash := sha256.New()
	fmt.Fprintln(hash, p.identity.Recipient().String())
	macID := sha256.Sum256(append([]byte("tend hmac key\n"), p.mac...))
	hash.Write(macID[:])
	if len(p.callback) > 0 {
		callbackID := sha256.Sum256(append([]byte("tend callback key\n"), p.callback...))
		hash.Write(callbackID[:])
	}
	return hex.EncodeToString(hash.Sum(nil))[:32]
}

// Encrypt encrypts data so that only this cluster's key decrypts it.
func (k *Keys) Encrypt(plain []byte) ([]byte, error) { return seal(plain, k.current()) }

func seal(plain []byte, p pair) ([]byte, error) {
	var out bytes.Buffer
	writer, err := age.Encrypt(&out, p.identity.Recipient())
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if _, err := writer.Write(plain); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return out.Bytes(), nil
}

// Decrypt decrypts data that Encrypt sealed under any key that is held. It returns ErrDecrypt if the data was sealed
// under another key, or changed.
func (k *Keys) Decrypt(sealed []byte) ([]byte, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return open(sealed, k.pairs)
}

func open(sealed []byte, with []pair) ([]byte, error) {
	identities := make([]age.Identity, len(with))
	for i, p := range with {
		identities[i] = p.identity
	}
	reader, err := age.Decrypt(bytes.NewReader(sealed), identities...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDecrypt, err)
	}
	plain, err := io.ReadAll(io.LimitReader(reader, maxPlain+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDecrypt, err)
	}
	if len(plain) > maxPlain {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrDecrypt, maxPlain)
	}
	return plain, nil
}

// HMAC returns a keyed hash: equal for equal data, and useless for guessing the data without the key.
func (k *Keys) HMAC(data []byte) string { return keyedHash(k.current().mac, data) }

// CallbackMAC is the HMAC of the tokens of containers: unlike HMAC it changes when the keys are rotated.
func (k *Keys) CallbackMAC(data []byte) string {
	if used := k.current(); len(used.callback) > 0 {
		return keyedHash(used.callback, data)
	}
	return k.HMAC(data)
}

func keyedHash(key, data []byte) string {
	hash := hmac.New(sha256.New, key)
	hash.Write(data)
	return hex.EncodeToString(hash.Sum(nil))
}
