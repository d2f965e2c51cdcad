package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes one backup. Make it with NewWriter; the backup is complete only after Close.
type Writer struct {
	manifest Manifest
	framed   *framed
	packed   *zstd.Encoder
	tar      *tar.Writer
}

// NewWriter begins a backup. It returns out's errors.
func NewWriter(out io.Writer, header Header) (*Writer, error) {
	header.Format = Format
	w := &Writer{manifest: Manifest{Header: header}, framed: newFramed(out)}
	var err error
	if w.packed, err = zstd.NewWriter(w.framed, zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	w.tar = tar.NewWriter(w.packed)
	return w, w.addJSON(headerName, header)
}

// Add writes a part of a known size. It returns an error if content has another size, and out's errors.
func (w *Writer) Add(name string, size int64, content io.Reader) error {
	if !partName().MatchString(name) {
		return fmt.Errorf("add %s: no such part", name)
	}
	hash := sha256.New()
	if err := w.add(name, size, io.TeeReader(content, hash)); err != nil {
		return err
	}
	w.manifest.Parts = append(w.manifest.Parts, Part{Name: name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return nil
}

func (w *Writer) add(name string, size int64, content io.Reader) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600,
		ModTime: w.manifest.TakenAt}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if _, err := io.CopyN(w.tar, content, size); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}

func (w *Writer) addJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	return w.add(name, int64(len(text)), bytes.NewReader(text))
}

// Close writes the manifest and the sum of everything, and returns the manifest. It doesn't close out.
func (w *Writer) Close() (Manifest, error) {
	if err := w.addJSON(manifestName, w.manifest); err != nil {
		return w.manifest, err
	}
	if err := w.tar.Close(); err != nil {
		return w.manifest, err
	}
	if err := w.packed.Close(); err != nil {
		return w.manifest, err
	}
	return w.manifest, w.framed.finish()
}
