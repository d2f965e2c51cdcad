package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tend.dev/tend/api/pattern"
)

// entries lists the valid entries of a folder in the root. Folders without such a list hold files of the user or of
// other programs, or have a reader of their own that skips unreadable files: the store, the process runtime's
// containers.
type entries struct {
	folder string // a pattern
	files  func() *regexp.Regexp
	dirs   func() *regexp.Regexp
}

var (
	nothing   = pattern.Lazy(`^$`)
	unchecked = pattern.Lazy(``)
	hexName   = pattern.Lazy(`^[0-9a-f]{64}$`)
	temporary = pattern.Lazy(`^\.(half|new)-`)
)

// rootEntries lists what the server itself stores in its root.
var rootEntries = []entries{
	{"blobs", nothing, pattern.Lazy(`^sha256$`)},
	{"blobs/sha256", hexName, nothing},
	{"assets", nothing, hexName},
	{"cache", pattern.Lazy(`^[0-9a-f]{64}\.json$`), nothing},
	{"builds", nothing, pattern.Lazy(`^(logs|tree-.*)$`)},
	{"builds/logs", pattern.Lazy(`^[a-z0-9][a-z0-9-]*\.[0-9a-f]{1,64}\.log$`), nothing},
	{"plugins", nothing, unchecked},
	{"clusters", pattern.Lazy(`^[0-9a-f]{16}$`), nothing},
	{"transfers", hexName, nothing},
	{"logs", pattern.Lazy(`^[0-9a-f]{64}\.log$`), nothing},
	{"quarantine", nothing, pattern.Lazy(`^(blobs|images|build-logs|process-images)$`)},
	{"quarantine/*", nothing, pattern.Lazy(`^(owners|waiting)$`)},
	{"quarantine/*/owners", nothing, pattern.Lazy(`^[0-9a-f]{16}$`)},
	{"process", pattern.Lazy(`^lock$`), pattern.Lazy(`^(containers|images)$`)},
	{"process/images", pattern.Lazy(`^([0-9a-f]{64}\.json(\.new)?|\.lock)$`), hexName},
}

// strays returns the paths below the root that the server neither created nor reads.
func (h *Host) strays() (out []string) {
	for _, known := range rootEntries {
		folders, _ := filepath.Glob(filepath.Join(h.Root, known.folder))
		for _, folder := range folders {
			found, err := os.ReadDir(folder)
			if err != nil {
				continue
			}
			for _, entry := range found {
				if !known.expects(entry) {
					out = append(out, filepath.Join(folder, entry.Name()))
				}
			}
		}
	}
	return out
}

func (e entries) expects(entry fs.DirEntry) bool {
	name := entry.Name()
	switch {
	case temporary().MatchString(name), strings.HasPrefix(name, ".") && e.folder == "plugins":
		return true
	case entry.IsDir():
		return e.dirs().MatchString(name)
	case entry.Type().IsRegular():
		return e.files().MatchString(name)
	}
	return false
}

// reportStrays finds and logs the files that were set aside, once per start.
func (h *Host) reportStrays() {
	h.quarantined = h.strays()
	for _, path := range h.quarantined {
		h.Logger.Warn("quarantined: not a file of Tend; it is left as it is", "path", path)
	}
}
