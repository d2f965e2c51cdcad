package compose

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/manifest"
)

// FuzzImport: any file leads to an error, or to manifests that Tend accepts.
func FuzzImport(f *testing.F) {
	for _, name := range slices.Concat(archives(f), corpus(f)) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if part.Name == "compose.yaml" {
				f.Add(part.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "compose.yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		result, err := Import(context.Background(), Options{Files: []string{file}})
		if err != nil {
			return
		}
		written, err := manifest.Write(result.Sections)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, section := range result.Sections {
			if section.Object.Kind == api.KindAsset {
				continue // its files are read only when it is applied
			}
			if len(manifest.Validate(section.Object)) > 0 {
				t.Fatalf("%q became what Tend refuses:\n%s", text, written)
			}
		}
	})
}
