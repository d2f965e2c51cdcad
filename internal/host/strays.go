package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// entries lists what may lie in a folder of the root. Folders without an entry hold files of the user or of other
// programs, or have a reader of their own that skips what it can't read: the store, the process runtime's containers.
type entries struct {
	folder string // a pattern
	files  *regexp.Regexp
	dirs   *regexp.Regexp
}

var (
	nothing   = regexp.MustCompile(`^$`)
	unchecked = regexp.MustCompile(``)
	hexName   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	temporary = regexp.MustCompile(`^\.(half|new)-`)
)

// rootEntries lists what the server itself stores in its root.
var rootEntries = []entries{
	{"blobs", nothing, regexp.MustCompile(`^sha256$`)},
	{"blobs/sha256", hexName, nothing},
	{"assets", nothing, hexName},
	{"cache", regexp.MustCompile(`^[0-9a-f]{64}\.json$`), nothing},
	{"builds", nothing, regexp.MustCompile(`^(logs|tree-.*)$`)},
	{"builds/logs", regexp.MustCompile(`^[a-z0-9][a-z0-9-]*\.[0-9a-f]{1,64}\.log$`), nothing},
	{"plugins", nothing, unchecked},
	{"clusters", regexp.MustCompile(`^[0-9a-f]{16}$`), nothing},
	{"transfers", hexName, nothing},
	{"logs", regexp.MustCompile(`^[0-9a-f]{64}\.log$`), nothing},
	{"quarantine", nothing, regexp.MustCompile(`^(blobs|images|build-logs|process-images)$`)},
	{"quarantine/*", nothing, regexp.MustCompile(`^(owners|waiting)$`)},
	{"quarantine/*/owners", nothing, regexp.MustCompile(`^[0-9a-f]{16}$`)},
	{"process", regexp.MustCompile(`^lock$`), regexp.MustCompile(`^(containers|images)$`)},
	{"process/images", regexp.MustCompile(`^([0-9a-f]{64}\.json(\.new)?|\.lock)$`), hexName},
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
	case temporary.MatchString(name), strings.HasPrefix(name, ".") && e.folder == "plugins":
		return true
	case entry.IsDir():
		return e.dirs.MatchString(name)
	case entry.Type().IsRegular():
		return e.files.MatchString(name)
	}
	return false
}

// reportStrays finds and logs what was set aside, once per start.
func (h *Host) reportStrays() {
	h.quarantined = h.strays()
	for _, path := range h.quarantined {
		h.Logger.Warn("quarantined: not a file of Tend; it is left as it is", "path", path)
	}
}
