package netpolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"

	"tend.dev/tend/api/node"
)

// memory is the state that is stored for a start without a server. With the containers that the engine lists it
// suffices for all rules. It lacks later pods of other nodes: they count as unknown, so nothing here reaches them until
// a server answers.
type memory struct {
	node.Network
	Pods map[string]node.Pods `json:"pods,omitempty"`
}

// kept is the content of the file, as far as it is known, and the network in it.
type kept struct{ text, network []byte }

// synced reports whether the control plane's word is complete, and counts.
func (k *Keeper) synced() bool { return closed(k.Synced) && closed(k.Hold) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// end stores the state for the next start.
func (k *Keeper) end() error {
	if !k.synced() || !k.Used() {
		return nil
	}
	if err := k.remember(memory{k.Network(), k.Pods()}, true); err != nil {
		k.Logger.Warn("the network's policy could not be stored", "error", err)
	}
	return nil
}

// recall reads the state that was last in force. An unreadable file counts as none: the control plane will send the
// state again.
func (k *Keeper) recall() {
	text, err := os.ReadFile(k.File)
	if err == nil {
		err = json.Unmarshal(text, &k.remembered)
	}
	switch {
	case err == nil:
		k.kept.text = text
	case !errors.Is(err, fs.ErrNotExist):
		k.remembered = memory{}
		k.Logger.Warn("the network's stored policy can't be read: it is unknown until a server sends it", "file", k.File, "error", err)
	}
}

// remember stores the state for a start without a server; for a network without a policy it stores nothing. A changed
// network is written at once. Pods come and go all the time: they are written with it, and in full passes.
func (k *Keeper) remember(is memory, full bool) error {
	if is.Driver == "" || is.Policy == nil {
		k.kept = kept{}
		if err := os.Remove(k.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unstored("remove", k.File, err)
		}
		return nil
	}
	network, err := json.Marshal(is.Network)
	if err != nil || !full && bytes.Equal(network, k.kept.network) {
		return err
	}
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, k.kept.text) {
		if err := renameio.WriteFile(k.File, text, 0o600, renameio.WithTempDir(filepath.Dir(k.File))); err != nil {
			return unstored("write", k.File, err)
		}
	}
	k.kept = kept{text, network}
	return nil
}

// unstored returns the fault of a disk that refuses an operation. It leaves out the temporary file, whose name changes
// each time.
func unstored(operation, file string, err error) error {
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause
	}
	return fmt.Errorf("a start without a server would use an older policy: %s %s: %w", operation, file, err)
}
