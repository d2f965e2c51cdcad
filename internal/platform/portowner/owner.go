package portowner

import (
	"bufio"
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

// Of returns the process that listens on a TCP port, on any of the machine's addresses.
func Of(port int) (Owner, bool) { return find("/proc", port) }

// find returns the process that listens on a TCP port, by the sockets in its file descriptors.
func find(proc string, port int) (Owner, bool) {
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		listeners(filepath.Join(proc, "net", table), port, inodes)
	}
	if len(inodes) == 0 {
		return Owner{}, false
	}
	links, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
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

// stateListen is the kernel's number for a listening socket.
const stateListen = "0A"

// listeners adds the sockets in a kernel table that listen on a port, in the form of the links to them.
func listeners(table string, port int, inodes map[string]bool) {
	file, err := os.Open(table)
	if err != nil {
		return
	}
	defer file.Close()
	wanted := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && strings.HasSuffix(fields[1], wanted) && fields[3] == stateListen {
			inodes["socket:["+fields[9]+"]"] = true
		}
	}
}
