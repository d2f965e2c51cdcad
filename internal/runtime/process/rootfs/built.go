package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// openFolders lets this process into every folder, as the store does with its own: the id must be that of the stored files.
func openFolders(ctx context.Context, dir string) error {
	entries, err := walk(ctx, dir)
	for _, item := range entries {
		if mode := item.info.Mode(); mode.IsDir() && mode.Perm()&0o700 != 0o700 {
			err = errors.Join(err, os.Chmod(filepath.Join(dir, filepath.FromSlash(item.path)), mode.Perm()|0o700))
		}
	}
	return err
}

// Add adds a folder that was just built to the store, with the configuration of its image.
func (s *Store) Add(ctx context.Context, dir string, config Config) (Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := openFolders(ctx, dir); err != nil {
		return Image{}, fmt.Errorf("image %s: %w", dir, err)
	}
	entries, err := walk(ctx, dir)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", dir, err)
	}
	content, err := digest(ctx, dir, entries)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", dir, err)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return Image{}, err
	}
	sum := sha256.Sum256(append([]byte(content), raw...))
	return s.add("sha256:"+hex.EncodeToString(sum[:]), config, func(root *os.Root) error {
		return copyAll(ctx, dir, entries, root, content)
	})
}
