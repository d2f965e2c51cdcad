package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
)

// ErrUnknownKey means that keys don't hold the pair of a fingerprint.
var ErrUnknownKey = errors.New("this server doesn't have the key")

// Fingerprints returns the fingerprints of all keys that are held, the one in use first.
func (k *Keys) Fingerprints() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	out := make([]string, len(k.pairs))
	for i, p := range k.pairs {
		out[i] = p.fingerprint()
	}
	return out
}

// Next makes the keys that are to replace those in use, and returns their text in the format of a key file, and their
// fingerprint. It doesn't hold them yet.
func (k *Keys) Next() (text []byte, fingerprint string, err error) {
	next, err := newPair(k.current().mac)
	if err != nil {
		return nil, "", err
	}
	next.callback = make([]byte, 32)
	if _, err := rand.Read(next.callback); err != nil {
		return nil, "", fmt.Errorf("make a key: %w", err)
	}
	return format(next), next.fingerprint(), nil
}

// Add holds further keys beside those in use, once the file has them. It returns ErrKeyFile, and errors of the disk.
func (k *Keys) Add(text []byte) error {
	pairs, err := parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return k.change(func(held []pair) []pair {
		for _, p := range pairs {
			if !slices.ContainsFunc(held, func(h pair) bool { return h.fingerprint() == p.fingerprint() }) {
				held = append(held, p)
			}
		}
		return held
	})
}

// Use makes the keys of a fingerprint the ones that encrypt from now on. It returns ErrUnknownKey if they are not held.
func (k *Keys) Use(fingerprint string) error {
	if k.Fingerprint() == fingerprint {
		return nil
	}
	if !k.prefer(fingerprint) {
		return fmt.Errorf("%w %s", ErrUnknownKey, fingerprint)
	}
	return k.change(func(held []pair) []pair { return held })
}

// prefer puts the keys of a fingerprint first. It reports whether they are held.
func (k *Keys) prefer(fingerprint string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.pairs, func(p pair) bool { return p.fingerprint() == fingerprint })
	if at < 0 {
		return false
	}
	used := k.pairs[at]
	k.pairs = append([]pair{used}, slices.Delete(slices.Clone(k.pairs), at, at+1)...)
	return true
}

// Forget drops all keys but those in use: data that others sealed can't be decrypted any more. It returns errors of the
// disk.
func (k *Keys) Forget() error { return k.change(func(held []pair) []pair { return held[:1] }) }

// change writes the changed pairs to the file, and then holds them.
func (k *Keys) change(to func(held []pair) []pair) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := to(slices.Clone(k.pairs))
	if err := replacePrivate(k.path, format(next...)); err != nil {
		return err
	}
	k.pairs = next
	return nil
}

// The output of Encrypt begins with sealedHead. Records, whose values are JSON, hold it in base64, where it begins with
// sealedText.
var (
	sealedHead = []byte("age-encryption.org/v1\n-> X25519 ")
	sealedText = []byte(base64.StdEncoding.EncodeToString(sealedHead[:len(sealedHead)/3*3]))
)

// Reseal returns a stored value in which all data sealed under retired keys is sealed under those in use, and the
// number of replacements. It works on any record, since sealed data has a recognizable form. Data that can't be
// decrypted stays.
func (k *Keys) Reseal(value []byte) (fresh []byte, count int, err error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if bytes.HasPrefix(value, sealedHead) {
		fresh, stale, err := k.reseal(value)
		if stale {
			count = 1
		}
		return fresh, count, err
	}
	for {
		at := bytes.Index(value, sealedText)
		if at < 0 {
			return append(fresh, value...), count, nil
		}
		end := at
		for end < len(value) && inBase64(value[end]) {
			end++
		}
		text, stale, err := k.resealText(value[at:end])
		if err != nil {
			return nil, 0, err
		}
		if stale {
			count++
		}
		fresh = append(append(fresh, value[:at]...), text...)
		value = value[end:]
	}
}

func (k *Keys) resealText(text []byte) (fresh []byte, stale bool, err error) {
	sealed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return text, false, nil //nolint:nilerr // Encrypt didn't make it
	}
	sealed, stale, err = k.reseal(sealed)
	if err != nil || !stale {
		return text, false, err
	}
	return []byte(base64.StdEncoding.EncodeToString(sealed)), true, nil
}

// reseal seals data again with the keys in use if it was sealed with retired ones, and reports whether it was.
func (k *Keys) reseal(sealed []byte) (fresh []byte, stale bool, err error) {
	if len(k.pairs) == 1 {
		return sealed, false, nil
	}
	plain, err := open(sealed, k.pairs[1:])
	if err != nil {
		return sealed, false, nil //nolint:nilerr // the keys in use sealed it, or those of someone else
	}
	fresh, err = seal(plain, k.pairs[0])
	return fresh, err == nil, err
}

func inBase64(b byte) bool {
	return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '='
}

// Retired returns the keys that are held but not in use, in the format of a key file, or nil.
func (k *Keys) Retired() []byte {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.pairs) == 1 {
		return nil
	}
	return format(k.pairs[1:]...)
}
