package durable

import (
	"errors"
	"fmt"
	"os"
)

// Sync writes a folder, or a file, to the disk.
func Sync(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}
