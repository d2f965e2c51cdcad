package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/store/memory"
)

// Only a start with a used root but without its store warns of the loss.
func TestFoundingInAUsedRootWarns(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	first, second := memory.New(), memory.New()
	defer first.Close()
	defer second.Close()
	for _, step := range []struct {
		reason string
		store  *memory.Store
		want   int
	}{
		{reason: "a new root", store: first},
		{reason: "the same store again", store: first},
		{reason: "the store is another, empty one", store: second, want: 1},
		{reason: "warned of once", store: second},
	} {
		var log bytes.Buffer
		d := &daemon{store: step.store, Options: Options{
			Options: host.Options{
				Root: root, Data: filepath.Join(root, "state"), Runtime: "hollow", Logger: slog.New(slog.NewTextHandler(&log, nil)),
			},
		}}
		if err := d.prepareRoot(ctx); err != nil {
			t.Fatal(err)
		}
		if err := d.claim(ctx); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "its store is gone"); got != step.want {
			t.Errorf("%s: warned %d times, want %d: %s", step.reason, got, step.want, &log)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "node")); err != nil {
		t.Error(err)
	}
}
