package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/build/tree"
	"tend.dev/tend/internal/input/manifest"
)

// packedTree is a source tree that is ready to be sent.
type packedTree struct {
	tree.Packed
	source manifest.Source
	// file holds its tar; nil in a dry run. The file is unlinked already, so that nothing is left however the command
	// ends.
	file *os.File
	size int64
}

// packTrees packs the source of each object that is built, and records the digests in the objects. keep keeps the tars
// for upload; the caller then removes them with dropTrees.
func (a *app) packTrees(ctx context.Context, loaded manifest.Result, keep bool) (trees []packedTree, err error) {
	limit, err := maxTree()
	if err != nil {
		return nil, err
	}
	for _, source := range loaded.Builds {
		packed, err := packTree(ctx, source, limit, keep)
		if err != nil {
			dropTrees(trees)
			return nil, fmt.Errorf("%s: pack %s: %w", source.Object, source.Folder, err)
		}
		trees = append(trees, packed)
		for i := range loaded.Objects {
			if loaded.Objects[i].Ref() == source.Object {
				loaded.Objects[i].Metadata.Stamps = map[string]string{api.StampBuild: packed.Digest}
			}
		}
	}
	return trees, nil
}

func packTree(ctx context.Context, source manifest.Source, limit int64, keep bool) (packedTree, error) {
	opts := tree.PackOptions{MaxBytes: limit}
	if name := source.Build.Dockerfile; name != "" {
		opts.Keep = append(opts.Keep, path.Clean(name))
	} else {
		opts.Keep = append(opts.Keep, "Dockerfile")
	}
	out := packedTree{source: source}
	if !keep {
		var err error
		out.Packed, err = tree.Pack(ctx, source.Folder, io.Discard, opts)
		return out, err
	}
	file, err := os.CreateTemp("", "tend-source-*.tar")
	if err != nil {
		return out, err
	}
	out.file = file
	if err = os.Remove(file.Name()); err == nil {
		out.Packed, err = tree.Pack(ctx, source.Folder, file, opts)
	}
	if err == nil {
		out.size, err = file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		dropTrees([]packedTree{out})
	}
	return out, err
}

func dropTrees(trees []packedTree) {
	for _, t := range trees {
		if t.file != nil {
			_ = t.file.Close()
		}
	}
}

// maxTree returns how large a source may be: TEND_BUILD_MAX_SIZE, or the predecessor's variable.
func maxTree() (int64, error) {
	for _, name := range []string{"TEND_BUILD_MAX_SIZE", "VOODU_BUILD_MAX_SIZE"} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		limit, err := api.ParseMemory(text)
		if err != nil || limit <= 0 || limit > api.MaxTreeBytes {
			return 0, fmt.Errorf("%s %q: want a size such as 200Mi, at most 16Gi", name, text)
		}
		return limit, nil
	}
	return tree.DefaultMaxBytes, nil
}

// sendTrees sends the trees that the server doesn't have.
func (a *app) sendTrees(ctx context.Context, c *client.Client, trees []packedTree) error {
	for _, t := range trees {
		there, err := c.HasBlob(ctx, t.Digest)
		if err != nil {
			return fmt.Errorf("ask for the source of %s: %w", t.source.Object, err)
		}
		if there {
			continue
		}
		if err := a.sendTree(ctx, c, t); err != nil {
			return fmt.Errorf("send the source of %s, of which nothing is kept until it is whole: %w", t.source.Object, err)
		}
	}
	return nil
}

func (a *app) sendTree(ctx context.Context, c *client.Client, t packedTree) error {
	quiet := a.structured() || a.output == "name"
	if !quiet {
		fmt.Fprintf(a.err, "sending the source of %s: %s in %d files\n", t.source.Object, treeSize(t.Bytes), t.Files)
	}
	return c.PutTree(ctx, t.Digest, t.size, func() (io.Reader, error) {
		if _, err := t.file.Seek(0, io.SeekStart); err != nil || quiet {
			return t.file, err
		}
		return &sending{from: t.file, to: a.err, size: t.size, shownAt: time.Now()}, nil
	})
}

// treeSize formats a size in kB or MB.
func treeSize(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return megabytes(n)
}

// sending reports every few seconds how much was sent.
type sending struct {
	from    io.Reader
	to      io.Writer
	size, n int64
	shownAt time.Time
}

const showEvery = 2 * time.Second

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.n += int64(n)
	if time.Since(s.shownAt) >= showEvery {
		s.shownAt = time.Now()
		fmt.Fprintf(s.to, "  %d%% of %s\n", 100*s.n/max(1, s.size), megabytes(s.size))
	}
	return n, err
}
