package journal

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Line is one stored line.
type Line struct {
	Stream string    `json:"stream"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
	// Part is set if the next line of the stream continues this one.
	Part bool `json:"part,omitempty"`
}

// MaxText is the longest text of one line; a longer one is split into several.
const MaxText = 16 << 10

// fileName is the name of the live file. Older files have .1, .2, … after it.
const fileName = "output.json"

func livePath(dir string) string { return filepath.Join(dir, fileName) }

func oldPath(dir string, n int) string {
	if n == 0 {
		return livePath(dir)
	}
	return livePath(dir) + "." + strconv.Itoa(n)
}

// paths returns the existing files, oldest first.
func paths(dir string) []string {
	var out []string
	for n := 0; ; n++ {
		if _, err := os.Lstat(oldPath(dir, n)); err != nil {
			// The live file may be missing for a moment during a rotation.
			if n > 0 {
				return out
			}
			continue
		}
		out = append([]string{oldPath(dir, n)}, out...)
	}
}
