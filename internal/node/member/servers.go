package member

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/internal/node/nodeapi/join"
)

// servers dials the servers of the cluster: the one that answered last, and another one when that fails.
type servers struct {
	connect join.Dial

	mu        sync.Mutex
	addresses []string
	at        int
	conn      net.Conn   // to the server that answered last
	local     netip.Addr // this machine's address on that connection
}

// attemptTime bounds a dial if there are several servers.
const attemptTime = 5 * time.Second

// dial connects to a server, ignoring the requested address: all servers of a cluster have the same name.
func (s *servers) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	addresses, at := s.addresses, s.at
	s.mu.Unlock()
	var faults []error
	for i := range addresses {
		next := (at + i) % len(addresses)
		conn, err := s.attempt(ctx, network, addresses[next], len(addresses) > 1)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.at, s.conn = next, conn
			if local, err := netip.ParseAddrPort(conn.LocalAddr().String()); err == nil {
				s.local = local.Addr().Unmap()
			}
			return conn, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// outside returns the address from which this machine reaches a server, which other machines reach too; invalid if that
// is itself.
func (s *servers) outside() netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.local.IsLoopback() {
		return netip.Addr{}
	}
	return s.local
}

func (s *servers) attempt(ctx context.Context, network, address string, others bool) (net.Conn, error) {
	if others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attemptTime)
		defer cancel()
	}
	return s.connect(ctx, network, address)
}

// next makes the next dial try another server first.
func (s *servers) next(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.addresses) < 2 {
		return
	}
	if s.at = (s.at + 1) % len(s.addresses); s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// mostServers bounds the addresses that are kept, also of servers that are down: they may come back.
const mostServers = 7

// learn adds the addresses of servers that run; it reports whether some of them are new.
func (s *servers) learn(running []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := slices.DeleteFunc(slices.Clone(running), func(a string) bool { return slices.Contains(s.addresses, a) })
	if len(fresh) == 0 {
		return false
	}
	current := s.addresses[s.at]
	old := slices.DeleteFunc(slices.Clone(s.addresses), func(a string) bool { return slices.Contains(running, a) })
	all := append(slices.Clone(running), old...)
	s.addresses = all[:min(len(all), mostServers)]
	s.at = max(0, slices.Index(s.addresses, current))
	return true
}

// several reports whether there is more than one server.
func (s *servers) several() bool { return len(s.known()) > 1 }

func (s *servers) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses
}

// address returns the HOST:PORT of a server's URL.
func address(server string) string { return strings.TrimPrefix(server, "https://") }
