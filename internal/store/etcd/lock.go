package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lock makes sure that only one process uses the data dir. If another one does, it names that process at once: etcd
// itself would silently wait for the database's lock.
func lock(dataDir string) (unlock func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dataDir, "tend.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", dataDir, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			holder, _ := io.ReadAll(io.LimitReader(file, 20))
			return nil, fmt.Errorf("%w: %s is held by process %s: stop that server, or use another --root",
				ErrInUse, dataDir, cmp.Or(strings.TrimSpace(string(holder)), "unknown"))
		}
		return nil, fmt.Errorf("lock %s: %w", dataDir, err)
	}
	// The process id serves only messages: a full disk must not keep a server from its own data.
	if file.Truncate(0) == nil {
		_, _ = fmt.Fprintln(file, os.Getpid())
	}
	return func() error {
		// A child that another goroutine starts just now has the file open until it runs its program, and with it the lock.
		return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
	}, nil
}
