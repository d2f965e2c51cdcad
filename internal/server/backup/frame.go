package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// The checksum at the end is in a frame that zstd skips. The checksums of zstd's own frames would not do: some bits of
// a frame aren't covered.
const (
	skippable  = 0x184D2A5E
	trailerLen = 8 + sha256.Size
)

// zstdMagic begins every backup that is not encrypted.
var zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// framed writes bytes and, at the end, their sum.
type framed struct {
	out io.Writer
	sum hash.Hash
}

func newFramed(out io.Writer) *framed { return &framed{out: out, sum: sha256.New()} }

func (f *framed) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	f.sum.Write(p[:n])
	return n, err
}

func (f *framed) finish() error {
	_, err := f.out.Write(trailer(f.sum))
	return err
}

func trailer(sum hash.Hash) []byte {
	out := binary.LittleEndian.AppendUint32(nil, skippable)
	out = binary.LittleEndian.AppendUint32(out, sha256.Size)
	return sum.Sum(out)
}

// unframed reads all but the sum at the end.
type unframed struct {
	in  *bufio.Reader
	sum hash.Hash
}

func newUnframed(in io.Reader) *unframed {
	return &unframed{in: bufio.NewReaderSize(in, 64<<10), sum: sha256.New()}
}

func (u *unframed) Read(p []byte) (int, error) {
	// The last bytes stay in the buffer, since they may be the frame: they are read only once others follow.
	ahead, err := u.in.Peek(u.in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	n := min(len(ahead)-trailerLen, len(p))
	if n <= 0 {
		return 0, io.EOF
	}
	copy(p, ahead[:n])
	u.sum.Write(ahead[:n])
	_, err = u.in.Discard(n)
	return n, err
}

// finish reads the rest and compares the checksum.
func (u *unframed) finish() error {
	if _, err := io.Copy(io.Discard, u); err != nil {
		return err
	}
	stored, err := io.ReadAll(u.in)
	if err != nil {
		return err
	}
	if !bytes.Equal(stored, trailer(u.sum)) {
		return fmt.Errorf("%w: its checksum doesn't match its bytes", ErrDamaged)
	}
	return nil
}
