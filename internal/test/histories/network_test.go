//go:build integration

package histories

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// network connects the servers' stores: a relay before each. A link is one direction between two servers.
type network struct {
	t         testing.TB
	mu        sync.Mutex
	moved     *sync.Cond // on mu: a link was cut, held or healed
	pids      map[string]int
	cut       map[link]bool
	held      map[link]bool
	open      map[*relayed]bool
	ended     bool
	listeners []net.Listener
	wait      sync.WaitGroup
}

type link struct{ from, to string }

// relayed is a connection between two servers.
type relayed struct {
	link
	near, far net.Conn
}

func newNetwork(t testing.TB) *network {
	n := &network{t: t, pids: map[string]int{}, cut: map[link]bool{}, held: map[link]bool{}, open: map[*relayed]bool{}}
	n.moved = sync.NewCond(&n.mu)
	t.Cleanup(n.end)
	return n
}

// relay listens at an address and passes the bytes that arrive on to a server's own address.
func (n *network) relay(server, at, to string) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		n.t.Fatal(err)
	}
	n.wait.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			n.wait.Go(func() { n.connect(server, near, to) })
		}
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, listener)
}

// connect joins a connection to a server's store, if the link from where it comes is not cut.
func (n *network) connect(server string, near net.Conn, to string) {
	from := n.owner(near)
	if from == "" { // the other end has closed, or isn't a server: no link applies
		_ = near.Close()
		return
	}
	c := &relayed{link: link{from, server}, near: near}
	far, err := net.Dial("tcp", to)
	if err != nil {
		_ = near.Close()
		return
	}
	c.far = far
	if !n.add(c) {
		c.close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { n.copy(c, near, far, c.link) })
	both.Go(func() { n.copy(c, far, near, link{server, from}) })
	both.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

func (n *network) add(c *relayed) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended || n.cut[c.link] || n.cut[link{c.to, c.from}] {
		return false
	}
	n.open[c] = true
	return true
}

func (c *relayed) close() {
	_ = c.near.Close()
	_ = c.far.Close()
}

// copy passes on the bytes from one end, and keeps them while the link is held.
func (n *network) copy(c *relayed, from io.Reader, to io.Writer, direction link) {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		read, err := from.Read(buffer)
		if !n.passes(c, direction) {
			return
		}
		if _, failed := to.Write(buffer[:read]); err != nil || failed != nil {
			return
		}
	}
}

// passes waits until a link is not held. It returns false if the connection was cut.
func (n *network) passes(c *relayed, direction link) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.held[direction] && n.open[c] && !n.ended {
		n.moved.Wait()
	}
	return n.open[c] && !n.ended
}

// set sets or resets a state (cut, held) of links.
func (n *network) set(state map[link]bool, on bool, links ...link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		state[l] = on
	}
	for c := range n.open {
		if n.cut[c.link] || n.cut[link{c.to, c.from}] {
			delete(n.open, c)
			c.close()
		}
	}
	n.moved.Broadcast()
}

func (n *network) end() {
	n.mu.Lock()
	n.ended = true
	for _, listener := range n.listeners {
		_ = listener.Close()
	}
	for c := range n.open {
		c.close()
	}
	n.moved.Broadcast()
	n.mu.Unlock()
	n.wait.Wait()
}

func (n *network) runs(server string, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pids[server] = pid
}

// owner returns the server whose process has the other end of a connection. All of them are on one machine.
func (n *network) owner(near net.Conn) string {
	inode, err := socketOf(near.RemoteAddr(), near.LocalAddr())
	if err != nil {
		return ""
	}
	n.mu.Lock()
	pids := map[string]int{}
	for server, pid := range n.pids {
		pids[server] = pid
	}
	n.mu.Unlock()
	for server, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if target, err := os.Readlink(file); err == nil && target == "socket:["+inode+"]" {
				return server
			}
		}
	}
	return ""
}

var errNoSocket = errors.New("no socket has the addresses")

// socketOf returns the inode of the socket of a TCP connection of IPv4 that has a local and a remote address.
func socketOf(local, remote net.Addr) (string, error) {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	from, to := inTable(local), inTable(remote)
	for _, line := range strings.Split(string(table), "\n") {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[1] == from && fields[2] == to && fields[9] != "0" {
			if _, err := strconv.Atoi(fields[9]); err == nil {
				return fields[9], nil
			}
		}
	}
	return "", errNoSocket
}

// inTable returns an address in the form of the kernel's table: the bytes of the IP as a number in the machine's byte
// order.
func inTable(address net.Addr) string {
	tcp := address.(*net.TCPAddr)
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port)
}
