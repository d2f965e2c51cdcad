package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// open reads or creates the key, and opens the network of the kernel with it.
func (o *Overlay) open() error {
	if o.kernel != nil {
		return nil
	}
	text, err := os.ReadFile(o.KeyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if o.key, err = wgtypes.GeneratePrivateKey(); err != nil {
			return err
		}
		if err = renameio.WriteFile(o.KeyFile, []byte(o.key.String()+"\n"), 0o600,
			renameio.WithTempDir(filepath.Dir(o.KeyFile))); err != nil {
			return fmt.Errorf("keep the key of WireGuard: %w", err)
		}
	case err != nil:
		return fmt.Errorf("read the key of WireGuard: %w", err)
	default:
		if o.key, err = wgtypes.ParseKey(strings.TrimSpace(string(text))); err != nil {
			return fmt.Errorf("%s holds no key of WireGuard: %w: remove it, and a new one is made", o.KeyFile, err)
		}
	}
	made, err := newKernel(o.key)
	if err == nil {
		o.kernel = made
	}
	return err
}
