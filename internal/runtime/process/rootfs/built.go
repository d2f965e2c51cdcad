package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
)

// Add adds a folder that was just built to the store, with the configuration of its image.
func (s *Store) Add(ctx context.Context, dir string, config Config) (Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
