package plugin

import (
	"encoding/json"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// installedBy is the file within a plugin's folder that says where it came from. It lies in the folder so that both are
// replaced together.
const installedBy = ".tend-plugin.json"

// Installed describes the installation of a plugin.
type Installed struct {
	// Source is the source as given, with an absolute path for a folder. It may hold credentials; use Shown for output.
	Source string `json:"source,omitempty"`
	// Version is the version it is pinned to; empty means the newest of the source.
	Version string `json:"version,omitempty"`
	// Pending is the call of its install hook until the hook has ended. If a crash leaves it set, the plugin was never
	// installed, and the hook may still run.
	Pending string `json:"pending,omitempty"`
}

// installed reads where a plugin came from. An unreadable file counts as unknown.
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
	return renameio.WriteFile(filepath.Join(dir, installedBy), append(text, '\n'), 0o600, renameio.WithTempDir(dir))
}
