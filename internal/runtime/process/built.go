//go:build linux

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/renameio/v2"

	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/process/shim"
)

// built is the owner of an image that was built here. It is stored in a file with the image's name.
type built struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Scope string `json:"scope,omitempty"`
	Build string `json:"build"`
}

func (b built) origin() runtime.Origin {
	return runtime.Origin{Owner: b.Owner, Scope: b.Scope, Build: b.Build}
}

// builtName matches the names of built images. Such a name is safe as a file name.
var builtName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*:[a-z0-9]+$`)

// builtFolder holds the names of the cluster's images.
func (r *Runtime) builtFolder() string {
	return filepath.Join(filepath.Dir(r.dir), "built", filepath.Base(filepath.Clean("/"+r.opts.Cluster)))
}

func (r *Runtime) remember(reference string, image built) error {
	if !builtName.MatchString(reference) {
		return fmt.Errorf("%.100q is no name of a built image", reference)
	}
	if err := os.MkdirAll(r.builtFolder(), 0o700); err != nil {
		return diskFull(err)
	}
	raw, err := json.Marshal(image)
	if err != nil {
		return err
	}
	path := filepath.Join(r.builtFolder(), reference)
	return diskFull(renameio.WriteFile(path, raw, 0o600, renameio.WithTempDir(r.builtFolder()))) // until then it begins with a dot, as no image does
}

// recall reads a name; false if no built image has it.
func (r *Runtime) recall(reference string) (built, bool) {
	if !builtName.MatchString(reference) {
		return built{}, false
	}
	return readBuilt(filepath.Join(r.builtFolder(), reference))
}

func readBuilt(path string) (image built, ok bool) {
	raw, err := os.ReadFile(path)
	return image, err == nil && json.Unmarshal(raw, &image) == nil
}

// Built implements runtime.Runtime.
func (r *Runtime) Built(ctx context.Context) ([]runtime.BuiltImage, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(r.builtFolder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []runtime.BuiltImage
	for _, entry := range entries {
		image, ok := r.recall(entry.Name())
		_, tag, _ := strings.Cut(entry.Name(), ":")
		if ok && image.Owner != "" && (tag == image.Build || tag == "latest") { // also of objects that share it
			out = append(out, runtime.BuiltImage{ID: image.ID, Origin: image.origin(), Tags: []string{entry.Name()}})
		}
	}
	return out, nil
}

// Tag implements runtime.Runtime.
func (r *Runtime) Tag(_ context.Context, image, reference string) error {
	found, ok := r.recall(image)
	if !ok {
		return fmt.Errorf("tag %s: image %s: %w", reference, image, runtime.ErrNotFound)
	}
	return r.remember(reference, found)
}

// Untag implements runtime.Runtime. Prune deletes the image's files later, once they are the oldest unused ones.
func (r *Runtime) Untag(_ context.Context, reference string) error {
	image, ok := r.recall(reference)
	if !ok {
		return nil
	}
	inUse := false
	damaged, err := r.scan(func(_ string, record shim.Record) error {
		inUse = inUse || record.ImageID == image.ID
		return nil
	})
	switch {
	case err != nil:
		return err
	case inUse, len(damaged) > 0:
		return runtime.ErrInUse
	}
	if err := os.Remove(filepath.Join(r.builtFolder(), reference)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.prune()
	return nil
}

// named adds the images of all clusters that were built and have a name.
func (r *Runtime) named(used map[string]bool) {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(r.builtFolder()), "*", "*"))
	for _, name := range names {
		if image, ok := readBuilt(name); ok {
			used[image.ID] = true
		}
	}
}
