package plugin

import (
	"encoding/json"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// installedBy is the file in a plugin's folder that records its source. It is in the folder so that both are replaced
// together.
const installedBy = ".tend-plugin.json"

// Installed describes the installation of a plugin.
type Installed struct {
	// Source is the source as given, with an absolute path for a folder. It may hold credentials; use Shown for output.
	Source string `json:"source,omitempty"`
	// Version is the version that was requested; empty means the newest of the source.
	Version string `json:"version,omitempty"`
	// Pending is the id of the install hook's call until the hook has ended. If a crash leaves it set, the installation
	// isn't complete, and the hook may still run.
	Pending string `json:"pending,omitempty"`
}

// installed reads the record of a plugin's installation. An unreadable file counts as unknown.
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
