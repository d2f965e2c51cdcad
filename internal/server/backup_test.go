package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/server"
)

// TestBackup: the backup arrives unchanged; an error before the first byte is a problem, and after one the client
// detects that the backup is incomplete.
func TestBackup(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, tc := range map[string]struct {
		reason string
		take   func(ctx context.Context, w io.Writer) error
		want   string
	}{
		"whole": {"", func(_ context.Context, w io.Writer) error { _, err := w.Write(large); return err }, ""},
		"refused": {"nothing was written yet", func(context.Context, io.Writer) error {
			return &api.Problem{Status: 507, Detail: "no room for a copy", Next: "free some room"}
		}, "no room for a copy"},
		"broken off": {"half of it was sent", func(_ context.Context, w io.Writer) error {
			_, err := w.Write(large[:len(large)/2])
			return errors.Join(err, errors.New("the disk is gone"))
		}, "interrupted the backup"},
		"none": {"", nil, "takes no backups"},
	} {
		w := newWorld(t, func(o *server.Options) { o.Backup = tc.take })
		var got bytes.Buffer
		err := w.client.Backup(t.Context(), &got)
		switch {
		case tc.want == "" && (err != nil || !bytes.Equal(got.Bytes(), large)):
			t.Errorf("%s: %d bytes, %v", name, got.Len(), err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
	}
	w := newWorld(t, func(o *server.Options) {
		o.BackupStatus = func() api.BackupStatus { return api.BackupStatus{Schedule: "0 3 * * *"} }
	})
	if status, err := w.client.BackupStatus(t.Context()); err != nil || status.Schedule == "" {
		t.Errorf("%+v, %v", status, err)
	}
	unknown, err := client.New(client.Options{Server: w.http, Token: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer unknown.Close()
	if err := unknown.Backup(t.Context(), io.Discard); client.StatusOf(err) != 401 &&
		!strings.Contains(err.Error(), "token") {
		t.Errorf("without the token: %v", err)
	}
}
