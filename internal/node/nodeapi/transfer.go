package nodeapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"tend.dev/tend/api/node"
)

// An image's archive travels as a head, which says at which byte of the archive the rest begins, and that rest.
const headSize = 8

// SendFrom returns what is sent of an archive to a node that has a part of it: what comes after the part if the archive
// begins with it, else the whole. open opens the archive from its beginning; an engine that archives an image twice
// need not write the same bytes.
func SendFrom(open func() (io.ReadCloser, error), has node.Part) (io.ReadCloser, error) {
	archive, err := open()
	if err != nil {
		return nil, err
	}
	from := uint64(0)
	if has.Size > 0 {
		sum := sha256.New()
		_, err := io.CopyN(sum, archive, has.Size)
		if err == nil && hex.EncodeToString(sum.Sum(nil)) == has.Sum {
			from = uint64(has.Size)
		} else if archive, err = reopen(archive, open); err != nil {
			return nil, err
		}
	}
	head := binary.BigEndian.AppendUint64(nil, from)
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), archive), archive}, nil
}

func reopen(archive io.ReadCloser, open func() (io.ReadCloser, error)) (io.ReadCloser, error) {
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return open()
}

// ReceiveFrom reads the head of what was sent, and returns at which byte of the archive the rest begins: 0 or the size
// of the part.
func ReceiveFrom(content io.Reader, has node.Part) (int64, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(content, head[:]); err != nil {
		return 0, fmt.Errorf("the head of an image: %w", err)
	}
	switch from := binary.BigEndian.Uint64(head[:]); from {
	case 0:
		return 0, nil
	case uint64(has.Size):
		return has.Size, nil
	default:
		return 0, fmt.Errorf("an image is sent from byte %d, and %d are here", from, has.Size)
	}
}
