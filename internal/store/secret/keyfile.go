package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"filippo.io/age"
)

// A key file holds pairs: each begins with its age identity, and its other keys follow.
const (
	hmacPrefix     = "HMAC-SHA256-KEY-"
	callbackPrefix = "CALLBACK-SHA256-KEY-"
)

// format returns the content of a key file.
func format(pairs ...pair) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "# Tend's cluster keys. Keep a copy: without this file stored secrets can't be read.")
	for _, p := range pairs {
		fmt.Fprintln(&out, p.identity)
		fmt.Fprintln(&out, hmacPrefix+hex.EncodeToString(p.mac))
		if len(p.callback) > 0 {
			fmt.Fprintln(&out, callbackPrefix+hex.EncodeToString(p.callback))
		}
	}
	return out.Bytes()
}

// parse reads a key file. Its errors quote nothing of it.
func parse(content []byte) (pairs []pair, err error) {
	for _, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(pairs) == 0 || pairs[len(pairs)-1].identity != nil && !strings.HasPrefix(line, hmacPrefix) &&
			!strings.HasPrefix(line, callbackPrefix) {
			pairs = append(pairs, pair{})
		}
		if err := pairs[len(pairs)-1].read(line); err != nil {
			return nil, err
		}
	}
	if len(pairs) == 0 || slices.ContainsFunc(pairs, func(p pair) bool { return p.identity == nil || p.mac == nil }) {
		return nil, errors.New("it must hold an age identity and an hmac key")
	}
	return pairs, nil
}

func (p *pair) read(line string) (err error) {
	switch {
	case strings.HasPrefix(line, hmacPrefix):
		p.mac, err = readMAC(line, hmacPrefix)
	case strings.HasPrefix(line, callbackPrefix):
		p.callback, err = readMAC(line, callbackPrefix)
	default:
		if p.identity, err = age.ParseX25519Identity(line); err != nil {
			return errors.New("malformed age identity") // the library's error may quote the line, which is the key
		}
	}
	return err
}

func readMAC(line, prefix string) ([]byte, error) {
	mac, err := hex.DecodeString(strings.TrimPrefix(line, prefix))
	if err != nil || len(mac) != 32 {
		return nil, errors.New("malformed hmac key")
	}
	return mac, nil
}

// HoldsKey reports whether a key file's content holds the key of a fingerprint. It returns ErrKeyFile.
func HoldsKey(content []byte, fingerprint string) (bool, error) {
	pairs, err := parse(content)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return slices.ContainsFunc(pairs, func(p pair) bool { return p.fingerprint() == fingerprint }), nil
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
