package rootfs

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// refName is the annotation that names an image in a layout's index.
const refName = "org.opencontainers.image.ref.name"

func isLayout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}

func (s *Store) layout(ctx context.Context, dir, tag string) (Image, error) {
	source, err := openLayout(dir, tag)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", dir, err)
	}
	id, err := source.ConfigName()
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", dir, err)
	}
	config, err := source.ConfigFile()
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", dir, err)
	}
	image, err := s.add(id.String(), configOf(config.Config), func(root *os.Root) error {
		content := mutate.Extract(source)
		defer content.Close()
		return unpack(ctx, tar.NewReader(content), root)
	})
	if err != nil {
		return Image{}, fmt.Errorf("image %s: unpack: %w", dir, err)
	}
	return image, nil
}

func configOf(config v1.Config) Config {
	return Config{
		Env: config.Env, Entrypoint: config.Entrypoint, Cmd: config.Cmd, WorkingDir: config.WorkingDir,
		User: config.User, StopSignal: config.StopSignal,
	}
}

// openLayout returns the image with the tag, or the only image if tag is empty.
func openLayout(dir, tag string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var fits []v1.Descriptor
	for _, entry := range manifest.Manifests {
		if entry.MediaType.IsImage() && (tag == "" || entry.Annotations[refName] == tag) {
			fits = append(fits, entry)
		}
	}
	switch {
	case len(fits) == 0:
		return nil, fmt.Errorf("%w: the layout holds no tag %q", ErrNotFound, tag)
	case len(fits) > 1:
		return nil, fmt.Errorf("%w: the layout holds %d images; write one as FOLDER:TAG", ErrNotFound, len(fits))
	}
	return index.Image(fits[0].Digest)
}

// unpack writes the rest of an archive under root. No entry can get outside, neither by its name nor through a link.
func unpack(ctx context.Context, reader *tar.Reader, root *os.Root) error {
	var bytes int64
	for n := 0; ; n++ {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		bytes += header.Size
		if n > maxEntries || bytes > maxBytes {
			return ErrTooLarge
		}
		if err := errors.Join(ctx.Err(), unpackEntry(reader, header, root)); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func unpackEntry(reader *tar.Reader, header *tar.Header, root *os.Root) error {
	name := filepath.FromSlash(path.Clean(path.Join(".", header.Name))) //nolint:gosec // os.Root refuses paths that lead out
	if filepath.IsAbs(header.Name) {
		name = filepath.FromSlash(path.Clean(header.Name[1:]))
	}
	if name == "." {
		return nil
	}
	// Devices can't be created, and setuid and setgid bits must not reach the host.
	mode := fs.FileMode(header.Mode) & fs.ModePerm
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return root.Chmod(name, mode|0o700)
	case tar.TypeSymlink:
		return errors.Join(replace(root, name), root.Symlink(header.Linkname, name))
	case tar.TypeLink:
		return errors.Join(replace(root, name), root.Link(filepath.FromSlash(path.Clean(header.Linkname)), name))
	case tar.TypeReg:
		if err := replace(root, name); err != nil {
			return err
		}
		return writeFile(root, name, mode, func(file io.Writer) error { return limitedCopy(file, reader, header.Size) })
	}
	return nil
}

// replace removes an earlier entry of the archive with the same name.
func replace(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
