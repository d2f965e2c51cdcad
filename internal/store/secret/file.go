package secret

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/internal/platform/durable"
)

const maxFile = 64 << 10

// Token reads the bearer token at path. It creates a missing file with a random token and mode 0600.
func Token(path string) (string, error) {
	content, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createToken(path)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("open %s: %w: a token is one word of at least 16 characters; remove the file to get a new one",
			path, ErrKeyFile)
	}
	return token, nil
}

func createToken(path string) (string, error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	token := "tend_" + hex.EncodeToString(random)
	if err := writePrivate(path, []byte(token+"\n")); err != nil {
		return "", err
	}
	return token, nil
}

// readPrivate reads a small file that only its owner may read.
func readPrivate(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w: not a file", path, ErrKeyFile)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("open %s: %w: its mode is %#o, others can read it: chmod 600 %s", path, ErrKeyFile, mode, path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("open %s: %w: larger than %d bytes", path, ErrKeyFile, maxFile)
	}
	return content, nil
}

// writePrivate creates a file of mode 0600 atomically, and never overwrites one: after a crash there is either no key
// or the whole key.
func writePrivate(path string, content []byte) error { return storePrivate(path, content, os.Link) }

// replacePrivate writes a file of mode 0600 atomically, and replaces an existing one: after a crash there are the old
// keys or the new ones.
func replacePrivate(path string, content []byte) error { return storePrivate(path, content, os.Rename) }

func storePrivate(path string, content []byte, place func(from, to string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	if _, err := temp.Write(content); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err := temp.Sync(); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err := place(temp.Name(), path); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return durable.Sync(filepath.Dir(path))
}
