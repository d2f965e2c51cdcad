package daemon

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateFiles is a certificate in two files. It reads them again when they have changed, so that a renewal doesn't
// require a restart. While the files can't be read, or don't fit together, the last certificate stays in use.
type certificateFiles struct {
	certificate, key string
	logger           *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	// read holds the modification times of the files at the last read.
	read [2]time.Time
}

// current returns the certificate as the files have it now.
func (f *certificateFiles) current() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed, err := f.changed()
	if err == nil && changed == f.read && f.loaded != nil {
		return f.loaded, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(f.certificate, f.key)
	}
	switch {
	case err == nil:
		f.loaded, f.read = &pair, changed
	case f.loaded == nil:
		return nil, err
	case changed != f.read:
		f.read = changed // log a fault only once
		f.logger.Warn("the changed certificate can't be used; the previous one stays in use", "path", f.certificate, "error", err)
	}
	return f.loaded, nil
}

// changed returns the modification times of the files.
func (f *certificateFiles) changed() (at [2]time.Time, err error) {
	for i, path := range []string{f.certificate, f.key} {
		info, fault := os.Stat(path)
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		at[i] = info.ModTime()
	}
	return at, err
}
