package plugin

import (
	"compress/gzip"
	"context"
	"errors"
	"io"

	"tend.dev/tend/internal/input/build/tree"
)

// unpack writes an archive's files into an empty folder. It refuses entries that lead out of the folder, and bounds the
// unpacked size.
func unpack(ctx context.Context, from source, archive io.Reader, into string) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return badSource(from.text, "give a folder or a .tar.gz", "it is not a .tar.gz: %s", err)
	}
	defer plain.Close()
	err = tree.Unpack(ctx, io.LimitReader(plain, 2*maxPlugin), into, tree.Limits{Bytes: maxPlugin, Entries: maxEntries})
	var hostile *tree.HostileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &hostile):
		return badSource(from.text, "don't trust it; nothing of it was kept", "%s", err)
	case ctx.Err() != nil:
		return badSource(from.text, "try again, or fetch it to the server first", "%s", context.Cause(ctx))
	}
	return badSource(from.text, "see that the archive is whole", "%s", err)
}
