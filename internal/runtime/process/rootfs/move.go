package rootfs

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tend.dev/tend/internal/recovery"
)

// An archive of an image is a tar: its configuration, then the entries of its folder below rootPrefix.
const (
	configName = "config.json"
	rootPrefix = "rootfs/"
)

// Save returns the archive of an image. One that came from an OCI layout has an id that what is unpacked doesn't show, so Load
// refuses it.
func (s *Store) Save(ctx context.Context, id string) (io.ReadCloser, error) {
	image, err := s.ByID(id)
	if err != nil {
		return nil, err
	}
	entries, err := walk(ctx, image.Root)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", id, err)
	}
	config, err := json.Marshal(image.Config)
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	recovery.Go(func() {
		err := recovery.Call(func() error { return pack(ctx, tar.NewWriter(writer), image.Root, config, entries) })
		_ = writer.CloseWithError(err) // always nil
	})
	return reader, nil
}

func pack(ctx context.Context, out *tar.Writer, dir string, config []byte, entries []entry) error {
	if err := out.WriteHeader(&tar.Header{Name: configName, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(config))}); err != nil {
		return err
	}
	if _, err := out.Write(config); err != nil {
		return err
	}
	for _, item := range entries {
		if err := errors.Join(ctx.Err(), packEntry(out, dir, item)); err != nil {
			return err
		}
	}
	return out.Close()
}

func packEntry(out *tar.Writer, dir string, item entry) error {
	header := &tar.Header{Name: rootPrefix + item.path, Mode: int64(item.info.Mode().Perm())}
	switch {
	case item.info.IsDir():
		header.Typeflag = tar.TypeDir
		return out.WriteHeader(header)
	case item.link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, item.link
		return out.WriteHeader(header)
	}
	header.Typeflag, header.Size = tar.TypeReg, item.info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	return readEntry(dir, item, out)
}

// Load adds the image of an archive to the store. Its id is that of what was read: as a folder's if that is what was asked for,
// else as a built image's.
func (s *Store) Load(ctx context.Context, id string, archive io.Reader) (Image, error) {
	reader := tar.NewReader(archive)
	header, err := reader.Next()
	if err != nil {
		return Image{}, fmt.Errorf("the archive of an image: %w", err)
	}
	var config Config
	if header.Name != configName || json.NewDecoder(io.LimitReader(reader, 1<<20)).Decode(&config) != nil {
		return Image{}, fmt.Errorf("the archive of an image doesn't begin with %s", configName)
	}
	fresh, err := os.MkdirTemp(s.dir, ".load-")
	if err != nil {
		return Image{}, err
	}
	defer os.RemoveAll(fresh)
	if err := fillFolder(fresh, func(root *os.Root) error { return unpack(ctx, reader, root) }); err != nil {
		return Image{}, fmt.Errorf("the archive of an image: %w", err)
	}
	dir := filepath.Join(fresh, filepath.FromSlash(rootPrefix))
	if config.empty() {
		s.mu.Lock()
		image, err := s.folderOf(ctx, dir, id)
		s.mu.Unlock()
		if err == nil || !errors.Is(err, ErrNotFound) {
			return image, err
		}
	}
	return s.Add(ctx, dir, config)
}
