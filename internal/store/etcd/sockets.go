package etcd

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// maxSocketPath is the kernel's limit for the path of a unix socket, less its final zero.
const maxSocketPath = 107

// sockets are the member's listeners: in the data dir, whatever the length of its path. If that is too long for a
// socket, the path goes through the open folder's file descriptor, so a killed process leaves nothing elsewhere.
type sockets struct {
	dir    string
	folder *os.File // nil if the path is short enough
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

// url returns the address of a socket. etcd removes an existing one: this process holds the lock, so a dead process
// left it.
func (s *sockets) url(name string) url.URL {
	return url.URL{Scheme: "unix", Host: filepath.Join(s.dir, name)} // peers are served at the host part alone
}

func (s *sockets) close() error {
	if s == nil || s.folder == nil {
		return nil
	}
	return s.folder.Close()
}
