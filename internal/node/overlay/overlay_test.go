package overlay

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
)

// TestTheFirstContainerWaitsForASubnet: where no network is declared, it waits for a while after it first asks, since a
// network of the engine's own choice would stay.
func TestTheFirstContainerWaitsForASubnet(t *testing.T) {
	bridge := func(context.Context) (netip.Prefix, error) { return netip.Prefix{}, nil }
	given := node.Network{Subnet: own}
	for name, tc := range map[string]struct {
		reason  string
		bridge  func(context.Context) (netip.Prefix, error)
		address string
		after   time.Duration
		network node.Network
		refused bool
		waits   bool
	}{
		"at first":   {"the servers are about to give one", bridge, "192.0.2.1", 0, node.Network{}, false, true},
		"soon":       {"they may be slow", bridge, "192.0.2.1", patience - 1, node.Network{}, false, true},
		"later":      {"none may come", bridge, "192.0.2.1", patience, node.Network{}, false, false},
		"given":      {"it has come", bridge, "192.0.2.1", 0, given, false, false},
		"declared":   {"its containers would not be reached", bridge, "192.0.2.1", time.Hour, node.Network{Driver: api.DriverVXLAN}, false, true},
		"refused":    {"the servers take no report of the node", bridge, "192.0.2.1", 0, node.Network{}, true, false},
		"no address": {"no other node reaches this one", bridge, "", 0, node.Network{}, false, false},
		"no bridge":  {"its containers share the machine's network", nil, "192.0.2.1", 0, node.Network{}, false, false},
	} {
		now, network := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), node.Network{}
		address, _ := netip.ParseAddr(tc.address)
		o := New(Options{
			Bridge: tc.bridge, Address: func() netip.Addr { return address },
			Network: func() node.Network { return network }, Now: func() time.Time { return now },
		})
		_, _, _ = o.Subnet() // the first question
		network = tc.network
		o.refused.Store(tc.refused)
		now = now.Add(tc.after)
		if subnet, _, err := o.Subnet(); errors.Is(err, ErrNoSubnet) != tc.waits || subnet != tc.network.Subnet {
			t.Errorf("%s: %s: %v, %v; want waiting %v", name, tc.reason, subnet, err, tc.waits)
		}
	}
}

// TestWhatIsReportedIsTaken: a machine with more networks and more to say than a report holds says the beginning of it.
func TestWhatIsReportedIsTaken(t *testing.T) {
	var got api.NetworkNodeStatus
	o := New(Options{Node: "n1", Report: func(_ context.Context, status api.NetworkNodeStatus) error {
		got = status
		return nil
	}})
	err := o.store(t.Context(), api.NetworkNodeStatus{Message: strings.Repeat("node n2 has no key yet; ", 1000),
		Taken: make([]netip.Prefix, 5000)})
	why := boundary.Network(got)
	if err != nil || why != "" || got.Node != "n1" || got.Message == "" || len(got.Taken) == 0 {
		t.Errorf("%v, %q: %d bytes and %d networks of %q", err, why, len(got.Message), len(got.Taken), got.Node)
	}
}

// unlisted is a machine with a device whose interfaces can't be listed. It keeps what it is to do.
type unlisted struct {
	State
	done []Action
}

func (u *unlisted) state(netip.Prefix) (State, error) { return u.State, nil }
func (u *unlisted) mtu(netip.Addr) (int, error)       { return 1500, errors.New("interrupted") }
func (u *unlisted) do(action Action) error            { u.done = append(u.done, action); return nil }
func (u *unlisted) fault(bool) string                 { return "" }
func (u *unlisted) close()                            {}

// TestAnUnknownMTUMakesNoDevice: the device stays as it is, and with it the connections over it.
func TestAnUnknownMTUMakesNoDevice(t *testing.T) {
	var got api.NetworkNodeStatus
	machine, resumed := &unlisted{State: State{Device: &Device{Driver: api.DriverVXLAN, MTU: 8950}}}, make(chan struct{})
	close(resumed)
	o := New(Options{
		Network: func() node.Network { return node.Network{Driver: api.DriverVXLAN, Subnet: own} }, Hold: resumed,
		Address: func() netip.Addr { return netip.MustParseAddr("192.0.2.1") }, Fault: func() string { return "" },
		Report: func(_ context.Context, status api.NetworkNodeStatus) error { got = status; return nil },
		Logger: slog.New(slog.DiscardHandler),
	})
	o.kernel = machine
	if err := o.pass(t.Context()); err != nil || len(machine.done) > 0 || got.Message != "interrupted" {
		t.Errorf("%v: did %v, and reports %q", err, machine.done, got.Message)
	}
}
