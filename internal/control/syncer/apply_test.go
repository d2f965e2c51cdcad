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
	if _, err := load(t.Context(), f, api.SyncSpec{Trusted: true}, nothing); err != nil {
		t.Fatalf("in time: %v", err)
	}
	late, cancel := context.WithCancelCause(t.Context())
	cancel(errLoadTime)
	_, err := load(late, f, api.SyncSpec{Trusted: true}, nothing)
	if !errors.Is(err, errLoadTime) {
		t.Fatalf("too late: %v", err)
	}
	fault := refused(nil, f, err)
	if fault.Reason != api.ReasonInvalidManifests || !strings.Contains(fault.Message, "longer to read than 30s") ||
		!strings.Contains(fault.Next, "fewer manifests") {
		t.Errorf("%+v", fault)
	}
}

func nothing(api.Ref) *api.Object { return nil }

// TestASyncKeepsAPort: an object that had a port before it became Tend's keeps it, in a source that isn't trusted too.
// It gets no further one, and no object that isn't stored gets it.
func TestASyncKeepsAPort(t *testing.T) {
	const one, both = `["127.0.0.1:8688:80"]`, `["127.0.0.1:8688:80", "127.0.0.1:8686:81"]`
	for name, tc := range map[string]struct {
		stored, declared string
		refused          bool
	}{
		"it has it":      {one, one, false},
		"it has both":    {both, one, false},
		"a further one":  {one, both, true},
		"it had none":    {`[]`, one, true},
		"it isn't there": {"", one, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.syncer.Stored = func(ref api.Ref) *api.Object {
				if tc.stored == "" || ref != (api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}) {
					return nil
				}
				return &api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
					Spec:     []byte(`{"image":"x","ports":` + tc.stored + `}`),
					Metadata: api.Metadata{Stamps: map[string]string{api.StampConfined: "true"}}}
			}
			folder := t.TempDir()
			text := "deployment \"shop\" \"web\" {\n  image = \"x\"\n  ports = " + tc.declared + "\n}\n"
			if err := os.WriteFile(filepath.Join(folder, "web.hcl"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, fault := w.poll(api.SyncSpec{Dir: folder})
			if got := strings.HasPrefix(fault, api.ReasonNotAllowed); got != tc.refused || !got && fault != "" {
				t.Errorf("refused %v, want %v: %q", got, tc.refused, fault)
			}
		})
	}
}
