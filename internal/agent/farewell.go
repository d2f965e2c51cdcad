package agent

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// The times of a pod's end beside proxies on other nodes.
const (
	// learning is how long those take at least to learn that the pod goes.
	learning = 500 * time.Millisecond
	// looking is the interval between two looks at its connections.
	looking = 50 * time.Millisecond
)

// drainOthers waits until the proxies of other nodes know that a pod goes, and have no connection to it, for at most the
// time given. What they have in flight is seen only in the pod's own connections.
func (a *Agent) drainOthers(ctx context.Context, task api.Task, limit time.Duration) {
	proxies := a.otherProxies(task)
	if limit <= 0 || len(proxies) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait := time.NewTimer(min(learning, limit))
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		seen, _ := a.containers.known(task.ID)
		if seen == nil || seen.container.PID == 0 || connections(filepath.Join("/proc", strconv.Itoa(seen.container.PID)), proxies) == 0 {
			return
		}
		wait.Reset(looking)
	}
}

// otherProxies returns the addresses from which the proxies of other nodes reach a task's pod, if an ingress sends it requests.
func (a *Agent) otherProxies(task api.Task) (out []netip.Addr) {
	if _, served := a.control.Served().Services[task.Scope+"/"+task.Name]; !served {
		return nil
	}
	for _, peer := range a.control.Network().Peers {
		out = append(out, peer.Subnet.Masked().Addr())
	}
	return out
}

// connections counts the open connections of a process's network from some addresses, as the kernel lists them below a folder of
// /proc. A network that can't be read has none.
func connections(process string, from []netip.Addr) (count int) {
	const established = "01"
	for _, name := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(filepath.Join(process, "net", name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line) // sl local_address rem_address st …
			if len(fields) > 3 && fields[3] == established && slices.Contains(from, remoteAddress(fields[2])) {
				count++
			}
		}
	}
	return count
}

// remoteAddress reads an address as the kernel writes it, ADDRESS:PORT in hex, each four bytes of the address reversed on
// processors whose numbers begin with the last byte. It is invalid for anything else.
func remoteAddress(text string) netip.Addr {
	digits, _, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(digits)
	if err != nil || len(bytes)%4 != 0 {
		return netip.Addr{}
	}
	for word := range slices.Chunk(bytes, 4) {
		binary.BigEndian.PutUint32(word, binary.NativeEndian.Uint32(word))
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address.Unmap()
}
