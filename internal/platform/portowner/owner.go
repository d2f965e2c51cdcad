package portowner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Owner is the process that listens on a port.
type Owner struct {
	Name string
	PID  int
}

func (o Owner) String() string { return fmt.Sprintf("%s (pid %d)", o.Name, o.PID) }

// Of returns the process that listens on a TCP port, on any of the machine's addresses, by the sockets in its file
// descriptors.
func Of(port int) (Owner, bool) {
	inodes := map[string]bool{}
	sockets, _ := listeners("/proc")
	for _, s := range sockets {
		if s.LocalPort == uint64(port) {
			inodes[fmt.Sprintf("socket:[%d]", s.Inode)] = true
		}
	}
	if len(inodes) == 0 {
		return Owner{}, false
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !inodes[target] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		pid, err := strconv.Atoi(filepath.Base(dir))
		name, unread := os.ReadFile(filepath.Join(dir, "comm"))
		if err == nil && unread == nil {
			return Owner{Name: strings.TrimSpace(string(name)), PID: pid}, true
		}
	}
	return Owner{}, false
}
