package member

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
)

// TestAnyServer: requests go to the server that answered last, and to another one when it doesn't, or when it was given
// up.
func TestAnyServer(t *testing.T) {
	down, asked := map[string]bool{}, []string{}
	s := &servers{addresses: []string{"a:1"}, connect: func(_ context.Context, _, address string) (net.Conn, error) {
		asked = append(asked, address)
		if down[address] {
			return nil, errors.New(address + " is down")
		}
		here, there := net.Pipe()
		_ = there.Close()
		return here, nil
	}}
	dial := func(want ...string) {
		t.Helper()
		asked = nil
		conn, err := s.dial(t.Context(), "tcp", "tend:443")
		if err == nil {
			defer conn.Close()
		}
		if !slices.Equal(asked, want) {
			t.Errorf("asked %v, want %v (%v)", asked, want, err)
		}
	}
	dial("a:1")
	s.next(nil) // there is no other
	dial("a:1")
	if !s.learn([]string{"a:1", "b:1", "c:1"}) || s.learn([]string{"b:1", "a:1"}) || s.learn(nil) {
		t.Error("what is new of the servers")
	}
	dial("a:1")
	s.next(nil)
	dial("b:1")
	dial("b:1")
	down["b:1"] = true
	dial("b:1", "c:1")
	dial("c:1")
	down["c:1"], down["a:1"] = true, true
	dial("c:1", "a:1", "b:1")
	down["c:1"] = false
	if !s.learn([]string{"d:1"}) {
		t.Error("a new server is not noticed")
	}
	if known := s.known(); !slices.Equal(known, []string{"d:1", "a:1", "b:1", "c:1"}) {
		t.Errorf("servers that are down are forgotten: %v", known)
	}
	dial("c:1")
}
