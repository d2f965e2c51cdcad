package peer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"tend.dev/tend/internal/core/membership"
)

// Settings are a server's stored settings for its peers: a store with several members finds no quorum without them.
type Settings struct {
	Name string `json:"name"`
	// Listen is the address at which its store listens for the others, URL its address for them.
	Listen string `json:"listen"`
	URL    string `json:"url"`
	// NodeListen is the address at which it listens for agents and other servers. Earlier versions don't write it.
	NodeListen string `json:"nodeListen,omitempty"`
	// Members holds the members of the cluster that this server joined.
	Members map[string]string `json:"members,omitempty"`
	// Cluster is the uid of the cluster in an external etcd; empty if the store is in this server.
	Cluster string `json:"cluster,omitempty"`
	// State is the last state of the server: added before its store is first opened, joining until it has a vote. Earlier
	// versions wrote none; they vote.
	State membership.State `json:"state,omitempty"`
}

// settingsFile is in the folder of the certificates.
const settingsFile = "server.json"

// ReadSettings reads the settings in a folder. known is false if it has none.
func ReadSettings(folder string) (settings Settings, known bool, err error) {
	path := filepath.Join(folder, settingsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil {
		return settings, false, fmt.Errorf("read %s: %w", path, err)
	}
	settings.State = cmp.Or(settings.State, membership.Voting)
	return settings, true, nil
}

// WriteSettings stores the settings in a folder atomically.
func WriteSettings(folder string, settings Settings) error {
	text, err := json.Marshal(settings)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(filepath.Join(folder, settingsFile), append(text, '\n'), 0o600, renameio.WithTempDir(folder))
	}
	if err != nil {
		return fmt.Errorf("remember the other servers: %w", err)
	}
	return nil
}
