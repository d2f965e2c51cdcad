package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// maxText bounds the entries that are read into memory.
const maxText = 256 << 20

// Each is called for every part of a backup, in order. The content is verified only once Read has returned without an
// error.
type Each func(header Header, name string, size int64, content io.Reader) error

// Read reads a whole backup and checks every sum. It returns ErrNoBackup, ErrVersion, ErrDamaged, and the errors of
// each.
func Read(in io.Reader, each Each) (Manifest, error) {
	source := newUnframed(in)
	head, err := source.in.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return Manifest{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !bytes.Equal(head, zstdMagic) {
		return Manifest{}, ErrNoBackup
	}
	unpacked, err := zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return Manifest{}, err
	}
	defer unpacked.Close()
	r := &reader{tar: tar.NewReader(unpacked), each: each}
	manifest, err := r.all()
	if err != nil {
		return manifest, err
	}
	if _, err := io.Copy(io.Discard, unpacked); err != nil {
		return manifest, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := source.finish(); err != nil && !errors.Is(err, ErrDamaged) {
		return manifest, fmt.Errorf("%w: %w", ErrDamaged, err)
	} else if err != nil {
		return manifest, err
	}
	return manifest, nil
}

// reader reads the entries of the tar.
type reader struct {
	tar    *tar.Reader
	each   Each
	header Header
	parts  []Part
}

func (r *reader) all() (Manifest, error) {
	first, err := r.next()
	if err != nil {
		return Manifest{}, err
	}
	if first.Name != headerName {
		return Manifest{}, ErrNoBackup
	}
	if err := r.readJSON(first, &r.header); err != nil {
		return Manifest{}, err
	}
	if r.header.Format > Format {
		return Manifest{}, fmt.Errorf("%w: format %d, this version reads up to %d: use Tend %s or a newer one", ErrVersion,
			r.header.Format, Format, r.header.Tend)
	}
	for {
		entry, err := r.next()
		if err != nil {
			return Manifest{}, err
		}
		if entry.Name == manifestName {
			return r.end(entry)
		}
		if err := r.part(entry); err != nil {
			return Manifest{}, err
		}
	}
}

func (r *reader) next() (*tar.Header, error) {
	entry, err := r.tar.Next()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, unexpected(err))
	}
	if entry.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("%w: %.80q is not a file", ErrDamaged, entry.Name)
	}
	return entry, nil
}

// part passes a part on, and computes its checksum.
func (r *reader) part(entry *tar.Header) error {
	if !partName().MatchString(entry.Name) ||
		slices.ContainsFunc(r.parts, func(p Part) bool { return p.Name == entry.Name }) {
		return fmt.Errorf("%w: %.80q does not belong in it", ErrDamaged, entry.Name)
	}
	content := &summed{in: r.tar, sum: sha256.New()}
	if err := r.each(r.header, entry.Name, entry.Size, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	part := Part{Name: entry.Name, Size: content.n, SHA256: hex.EncodeToString(content.sum.Sum(nil))}
	if digest := part.Blob(); digest != "" && digest != "sha256:"+part.SHA256 {
		return fmt.Errorf("%w: blob %s has other bytes", ErrDamaged, digest)
	}
	r.parts = append(r.parts, part)
	return nil
}

// end compares the parts read with the manifest.
func (r *reader) end(entry *tar.Header) (manifest Manifest, err error) {
	if err := r.readJSON(entry, &manifest); err != nil {
		return manifest, err
	}
	if !slices.Equal(manifest.Parts, r.parts) || manifest.Cluster != r.header.Cluster ||
		manifest.Revision != r.header.Revision {
		return manifest, fmt.Errorf("%w: its parts are not those that its manifest lists", ErrDamaged)
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return manifest, fmt.Errorf("%w: something follows the manifest", ErrDamaged)
	}
	return manifest, nil
}

func (r *reader) readJSON(entry *tar.Header, into any) error {
	text, err := io.ReadAll(io.LimitReader(r.tar, maxText))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, unexpected(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, entry.Name, err)
	}
	return nil
}

// summed computes the checksum of the stream while it is read. Its errors are ErrDamaged.
type summed struct {
	in  io.Reader
	sum hash.Hash
	n   int64
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	_, _ = s.sum.Write(p[:n])
	s.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, err
}

// unexpected returns the error of a stream that ends before the manifest.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
