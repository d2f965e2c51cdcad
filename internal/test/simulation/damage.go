package simulation

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// damage leaves a stray entry in some folder of the server's root, or harms a file that is only kept to be faster, and
// has the server started over it.
func damage(w *World, random *rand.Rand) {
	if w.shared() {
		return // which of them reads a folder again is open
	}
	w.count.faults.Add(1)
	w.kill()
	var folders, cached []string
	_ = filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case entry.IsDir():
			folders = append(folders, path)
		case filepath.Base(filepath.Dir(path)) == "cache":
			cached = append(cached, path)
		}
		return nil //nolint:nilerr // what can't be read is left alone
	})
	path := filepath.Join(anyOf(random, folders), "stray-"+strconv.FormatUint(random.Uint64(), 36))
	var err error
	switch kind := random.IntN(3); {
	case kind == 0 && len(cached) > 0:
		path = anyOf(random, cached)
		err = os.WriteFile(path, []byte(`{"half`), 0o600)
	case kind == 1:
		err = os.Mkdir(path, 0o700)
	default:
		err = os.WriteFile(path, []byte("stray"), 0o600)
	}
	if err != nil {
		w.fail("damage %s: %v", path, err)
	}
	relative, _ := filepath.Rel(w.root, path)
	w.storyf("the server is killed, and %s damaged", relative)
	w.start()
}
