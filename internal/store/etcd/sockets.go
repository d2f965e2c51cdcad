package etcd

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// maxSocketPath is what the kernel takes for the path of a unix socket, less its final zero.
const maxSocketPath = 107

// sockets are where the member listens: in the data dir, whatever the length of its path. Where that is too long for a
// socket, the kernel shortens it through the open folder, so nothing lies elsewhere that a killed process would leave.
type sockets struct {
	dir    string
	folder *os.File // nil where the path is short enough
}

func openSockets(dataDir string) (*sockets, error) {
	if len(filepath.Join(dataDir, "client.sock")) <= maxSocketPath {
		return &sockets{dir: dataDir}, nil
	}
	folder, err := os.Open(dataDir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of etcd's sockets: %w", err)
	}
	s := &sockets{dir: fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), folder: folder}
	if _, err := os.Stat(s.dir); err != nil {
		_ = folder.Close()
		return nil, fmt.Errorf("%s is too long for a unix socket without /proc: use a shorter --root", dataDir)
	}
	return s, nil
}

// url is the address of a socket. etcd removes one that is there: the lock is ours, so a dead process left it.
func (s *sockets) url(name string) url.URL {
	return url.URL{Scheme: "unix", Host: filepath.Join(s.dir, name)} // peers are served at the host part alone
}

func (s *sockets) close() error {
	if s == nil || s.folder == nil {
		return nil
	}
	return s.folder.Close()
}
