package portowner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
)

// localOnly are the addresses that are not reached from outside, in the form to print before a port.
var localOnly = map[string]string{"127.0.0.1": "127.0.0.1:", "::1": "[::1]:"}

const engineResolver = "127.0.0.11"

// Listening returns the TCP ports on which programs listen in the network namespace of a process: the port alone if on
// all addresses, else with its loopback address. It leaves out the engine's own resolver. known is false if the ports
// can't be read.
func Listening(pid int) (where []string, known bool) {
	sockets, known := listeners("/proc/" + strconv.Itoa(pid))
	ports := map[uint64]string{}
	for _, s := range sockets {
		address := s.LocalAddr.String()
		if before, seen := ports[s.LocalPort]; address != engineResolver && (!seen || before != "") {
			ports[s.LocalPort] = localOnly[address]
		}
	}
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		where = append(where, fmt.Sprintf("%s%d", ports[port], port))
	}
	return where, known
}

// stateListen is the kernel's number for a listening socket.
const stateListen = 0x0A

// listeners returns the listening TCP sockets in the tables below a folder of /proc. known is false if it has no table
// that can be read.
func listeners(proc string) (listening procfs.NetTCP, known bool) {
	tables, err := procfs.NewFS(proc)
	if err != nil {
		return nil, false
	}
	//nolint:staticcheck // Netlink, which it names instead, sees the sockets of one's own namespace alone.
	for _, table := range []func() (procfs.NetTCP, error){tables.NetTCP6, tables.NetTCP} {
		sockets, err := table()
		known = known || err == nil
		for _, s := range sockets {
			if s.St == stateListen {
				listening = append(listening, s)
			}
		}
	}
	return listening, known
}
