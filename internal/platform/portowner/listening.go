package portowner

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listening returns the TCP ports on which programs listen in the network namespace of a process: the port alone if on
// all addresses, else with its loopback address. It leaves out the engine's own resolver. known is false if the ports
// can't be read.
func Listening(pid int) (where []string, known bool) { return listening("/proc", pid) }

func listening(proc string, pid int) (where []string, known bool) {
	ports := map[int]string{}
	for _, table := range []string{"tcp6", "tcp"} {
		known = readListening(filepath.Join(proc, strconv.Itoa(pid), "net", table), ports) || known
	}
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		where = append(where, fmt.Sprintf("%s%d", ports[port], port))
	}
	return where, known
}

// The kernel's forms of addresses that are not reached from outside, and of the engine's resolver.
var localOnly = map[string]string{
	"0100007F": "127.0.0.1:", "00000000000000000000000001000000": "[::1]:",
}

const engineResolver = "0B00007F" // 127.0.0.11

// readListening adds the listening ports of a kernel table, each with the prefix to print it with.
func readListening(table string, ports map[int]string) bool {
	file, err := os.Open(table)
	if err != nil {
		return false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != stateListen {
			continue
		}
		address, hex, _ := strings.Cut(fields[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil || address == engineResolver {
			continue
		}
		prefix := localOnly[address]
		if before, seen := ports[int(port)]; !seen || before != "" {
			ports[int(port)] = prefix
		}
	}
	return true
}
