package portowner

import (
	"fmt"
	"slices"

	"github.com/prometheus/procfs"
)

// Owner is the process that listens on a port.
type Owner struct {
	Name string
	PID  int
}

func (o Owner) String() string { return fmt.Sprintf("%s (pid %d)", o.Name, o.PID) }

// stateListen is the kernel's number for a listening socket.
const stateListen = 0x0A

// Of returns the process that listens on a TCP port, on any of the machine's addresses.
func Of(port int) (Owner, bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return Owner{}, false
	}
	four, _ := fs.NetTCP() //nolint:staticcheck // its successor, netlink, is a library of its own
	six, _ := fs.NetTCP6() //nolint:staticcheck // the same
	var sockets []string   // in the form of the links to them
	for _, socket := range append(four, six...) {
		if socket.LocalPort == uint64(port) && socket.St == stateListen {
			sockets = append(sockets, fmt.Sprintf("socket:[%d]", socket.Inode))
		}
	}
	if len(sockets) == 0 {
		return Owner{}, false
	}
	processes, _ := fs.AllProcs()
	for _, process := range processes {
		open, _ := process.FileDescriptorTargets()
		if !slices.ContainsFunc(open, func(target string) bool { return slices.Contains(sockets, target) }) {
			continue
		}
		if name, err := process.Comm(); err == nil {
			return Owner{Name: name, PID: process.PID}, true
		}
	}
	return Owner{}, false
}
