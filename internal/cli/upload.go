package cli

import (
	"context"
	"fmt"
	"os"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/manifest"
)

// upload sends the files of assets that the server doesn't have, before any object refers to them.
func (a *app) upload(ctx context.Context, c *client.Client, uploads []manifest.Upload) error {
	for _, u := range uploads {
		there, err := c.HasBlob(ctx, u.Digest)
		if err != nil {
			return fmt.Errorf("ask for %s: %w", u.Path, err)
		}
		if there {
			continue
		}
		if !a.structured() && a.output != "name" {
			fmt.Fprintf(a.err, "uploading %s (%s)\n", u.Path, megabytes(u.Size))
		}
		if err := send(ctx, c, u); err != nil {
			return fmt.Errorf("upload %s: %w", u.Path, err)
		}
	}
	return nil
}

func send(ctx context.Context, c *client.Client, u manifest.Upload) error {
	file, err := os.Open(u.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() != u.Size {
		return fmt.Errorf("it changed while it was read; apply again")
	}
	return c.PutBlob(ctx, u.Digest, file, u.Size)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
