package syncer

import (
	"context"
	"path"
	"strings"
)

const (
	// maxListing bounds the list of a commit's files, in bytes. Those outside the sync's path count too: git keeps all
	// of them in memory while it makes an archive. Without a path a line may have 1 KiB.
	maxListing = 32 << 20
	wholeTree  = maxFiles << 10
	// maxMemory bounds what a process of git allocates.
	maxMemory = 2 << 30
)

// measure returns an error for a commit with too many files. A few small trees that name each other often stand for
// more files than any memory holds, so they are listed, for which git holds only one branch of them, before it makes an
// archive. How large the files are shows in the archive.
func (r *repository) measure(ctx context.Context, commit string) error {
	below, most := path.Clean(r.spec.Path), int64(maxListing)
	if below == "." {
		most = wholeTree
	}
	listing, err := r.git(ctx, most, nil, func(string) []string {
		return []string{"ls-tree", "-r", "-z", "--full-tree", commit}
	})
	if err != nil {
		return err
	}
	files := 0
	for entry := range strings.SplitSeq(string(listing), "\x00") {
		if _, name, _ := strings.Cut(entry, "\t"); below == "." && name != "" || name == below ||
			strings.HasPrefix(name, below+"/") {
			files++
		}
	}
	if files > maxFiles {
		return r.s.tooLarge()
	}
	return nil
}
