package tree

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Limits on the growth of a compressed tree. A tar of text grows tenfold; one that grows two hundredfold is an attack
// on the disk. A small tar may grow so much: it doesn't fill a disk.
const (
	maxGrowth   = 200
	smallGrowth = 64 << 20
)

// Inflate returns a reader of a tar that may be compressed with gzip. It reads at most limit bytes. Beyond that, and if
// the tar grows as no source does, the error is a *HostileError.
func Inflate(from io.Reader, limit int64) (io.Reader, error) {
	counted := &counter{from: from}
	buffered := bufio.NewReaderSize(counted, 64<<10)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return &inflated{from: buffered, packed: counted, limit: limit}, nil
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, &HostileError{Entry: "gzip", Why: "is damaged: " + err.Error()}
	}
	return &inflated{from: unpacked, packed: counted, limit: limit, compressed: true}, nil
}

// counter counts the bytes read, before they are decompressed.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// inflated reads a tree, decompressed if it is compressed, and ends with a HostileError beyond the limits.
type inflated struct {
	from       io.Reader
	packed     *counter
	limit, n   int64
	compressed bool
}

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.from.Read(p)
	i.n += int64(n)
	switch {
	case i.n > i.limit:
		return 0, &HostileError{Entry: "the whole", Why: "is larger than " + sizeText(i.limit)}
	case i.compressed && i.n > smallGrowth && i.n/maxGrowth > i.packed.n:
		return 0, &HostileError{Entry: "the whole", Why: fmt.Sprintf("grows to more than %d times its size", maxGrowth)}
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		return n, &HostileError{Entry: "gzip", Why: "is damaged: " + err.Error()}
	}
	return n, err
}
