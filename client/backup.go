package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"tend.dev/tend/api"
)

// Backup writes an unencrypted backup of the cluster to w: its store, keys and files. It is complete only if no error
// is returned.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	response, err := c.send(ctx, request{method: http.MethodPost, path: "/v1/backup", slow: true})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(w, response.Body)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the server interrupted the backup: see its log for the reason: %w", err)
	}
	return err
}

// BackupStatus returns the results of the server's scheduled backups.
func (c *Client) BackupStatus(ctx context.Context) (api.BackupStatus, error) {
	return call[api.BackupStatus](ctx, c, request{method: http.MethodGet, path: "/v1/backup"})
}
