package member

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/peer"
)

// checkRoot refuses the root of a server: a machine has one agent, which runs in its server. The root of a removed
// server is accepted, and one that an agent has used before.
func checkRoot(root string) error {
	if _, err := os.Stat(filepath.Join(root, file)); err == nil {
		return nil
	}
	settings, known, err := peer.ReadSettings(filepath.Join(root, "peers"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "state", "member")); err != nil && !known {
		return nil
	}
	if !known {
		return fmt.Errorf("%s has the store of a cluster: it is a server's, which runs the agent of this machine too: give another --root", root)
	}
	state := settings.State
	if settings.Cluster != "" {
		state = membership.External
	}
	about := membership.Subject{Server: settings.Name, Root: root}
	if _, refused := membership.Decide(membership.BecomeAgent, state, about); refused != nil {
		return refused
	}
	return nil
}

// setAside moves the files of a removed server out of its root into a folder beside it, and returns that folder, or ""
// if there were none: its store, the keys of the cluster and the authority of the servers, which an agent must not
// have. Data that the server's node sealed stays readable: the agent takes over the machine's own key. After a crash it
// may run again.
func setAside(root string, now time.Time) (string, error) {
	peers := filepath.Join(root, "peers")
	settings, known, err := peer.ReadSettings(peers)
	if err != nil || !known || settings.State != membership.Removed {
		return "", err
	}
	aside := filepath.Join(root, "replaced", "server-"+now.UTC().Format("20060102T150405Z"))
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return "", err
	}
	own, cluster := filepath.Join(root, "machine.key"), filepath.Join(root, "secret.key")
	if _, err := os.Stat(own); err == nil { // after a crash the agent's key may already be in place
		if err := errors.Join(move(cluster, aside), os.Rename(own, cluster)); err != nil {
			return "", err
		}
	}
	return aside, errors.Join(move(filepath.Join(root, "state"), aside),
		move(filepath.Join(root, "server"), aside), move(peers, aside))
}

// move moves a file or a folder, if it is there, into another folder.
func move(path, into string) error {
	err := os.Rename(path, filepath.Join(into, filepath.Base(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
