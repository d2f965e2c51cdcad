package syncer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestReadingEnds: a source whose manifests take too long to read is refused with the limit and the next step.
func TestReadingEnds(t *testing.T) {
	f := &fetched{folder: t.TempDir()}
	if err := os.MkdirAll(f.tree(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.tree(), "web.hcl"),
		[]byte("deployment \"a\" \"b\" {\n  image = \"x\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t.Context(), f, api.SyncSpec{Trusted: true}); err != nil {
		t.Fatalf("in time: %v", err)
	}
	late, cancel := context.WithCancelCause(t.Context())
	cancel(errLoadTime)
	_, err := load(late, f, api.SyncSpec{Trusted: true})
	if !errors.Is(err, errLoadTime) {
		t.Fatalf("too late: %v", err)
	}
	fault := refused(nil, f, err)
	if fault.Reason != api.ReasonInvalidManifests || !strings.Contains(fault.Message, "longer to read than 30s") ||
		!strings.Contains(fault.Next, "fewer manifests") {
		t.Errorf("%+v", fault)
	}
}
