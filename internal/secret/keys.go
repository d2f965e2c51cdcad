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
	"strings"

	"filippo.io/age"
)

const (
	hmacPrefix = "HMAC-SHA256-KEY-"
	// maxPlain bounds decrypted data: the values are environments, not files.
	maxPlain = 16 << 20
)

// Keys encrypt, decrypt and authenticate under one cluster's key material. Safe for concurrent use.
type Keys struct {
	identity *age.X25519Identity
	mac      []byte
}

// Open reads the key file. fingerprint is the one in the store's cluster record. If it is empty, as on the first boot,
// Open creates a missing file. Else the file must exist and match: a new key would leave every stored secret
// unreadable.
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
	keys, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w: restore it from a backup", path, ErrKeyFile, err)
	}
	if fingerprint != "" && fingerprint != keys.Fingerprint() {
		return nil, fmt.Errorf("open %s: %w: the store names %s, the file is %s: restore the right file or data folder",
			path, ErrKeyMismatch, fingerprint, keys.Fingerprint())
	}
	return keys, nil
}

// Fingerprint identifies both keys without revealing either.
func (k *Keys) Fingerprint() string {
	hash := sha256.New()
	fmt.Fprintln(hash, k.identity.Recipient().String())
	macID := sha256.Sum256(append([]byte("tend hmac key\n"), k.mac...))
	hash.Write(macID[:])
	return hex.EncodeToString(hash.Sum(nil))[:32]
}

// Encrypt encrypts data so that only this cluster's key decrypts it.
func (k *Keys) Encrypt(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	writer, err := age.Encrypt(&out, k.identity.Recipient())
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

// Decrypt opens what Encrypt sealed. ErrDecrypt if it was sealed under another key or changed.
func (k *Keys) Decrypt(sealed []byte) ([]byte, error) {
	reader, err := age.Decrypt(bytes.NewReader(sealed), k.identity)
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
func (k *Keys) HMAC(data []byte) string {
	hash := hmac.New(sha256.New, k.mac)
	hash.Write(data)
	return hex.EncodeToString(hash.Sum(nil))
}

func create(path string) (*Keys, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	mac := make([]byte, 32)
	if _, err := rand.Read(mac); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	content := "# Tend's cluster keys. Keep a copy: without this file stored secrets can't be read.\n" +
		identity.String() + "\n" + hmacPrefix + hex.EncodeToString(mac) + "\n"
	if err := writePrivate(path, []byte(content)); err != nil {
		return nil, err
	}
	return &Keys{identity: identity, mac: mac}, nil
}

func parse(content []byte) (*Keys, error) {
	keys := &Keys{}
	for _, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, hmacPrefix):
			mac, err := hex.DecodeString(strings.TrimPrefix(line, hmacPrefix))
			if err != nil || len(mac) != 32 {
				return nil, errors.New("malformed hmac key")
			}
			keys.mac = mac
		default:
			identity, err := age.ParseX25519Identity(line)
			if err != nil {
				// The library's error may quote the line, which is the key.
				return nil, errors.New("malformed age identity")
			}
			keys.identity = identity
		}
	}
	if keys.identity == nil || keys.mac == nil {
		return nil, errors.New("it must hold an age identity and an hmac key")
	}
	return keys, nil
}

// ErrOther means that a root has the keys of another cluster.
var ErrOther = errors.New("this root has the keys of another cluster")

// Keep stores the key file of a cluster that a server joins. It returns ErrOther if the root has another one.
func Keep(path string, content []byte) error {
	if _, err := parse(content); err != nil {
		return fmt.Errorf("the keys of the cluster: %w", err)
	}
	known, err := readPrivate(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return writePrivate(path, content)
	case err != nil:
		return err
	case !bytes.Equal(known, content):
		return fmt.Errorf("%s: %w: join with an empty --root", path, ErrOther)
	}
	return nil
}
