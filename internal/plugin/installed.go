package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// installedBy is the file within a plugin's folder that says where it came from. It lies in the folder so that it changes
// with it, whole or not at all.
const installedBy = ".tend-plugin.json"

// Installed is where a plugin came from.
type Installed struct {
	// Source is as it was given, a folder's path absolute. It may hold credentials: Shown is what others see.
	Source string `json:"source,omitempty"`
	// Version is what it is pinned to; empty follows the source.
	Version string `json:"version,omitempty"`
	// Pending is the call of its install hook until that has ended. What a crash leaves so was never installed, and its hook
	// may run still.
	Pending string `json:"pending,omitempty"`
}

// installed reads where a plugin came from. What can't be read counts as unknown.
func installed(dir string) Installed {
	var out Installed
	if text, err := readSmall(filepath.Join(dir, installedBy)); err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}

func (i Installed) write(dir string) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, installedBy)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
