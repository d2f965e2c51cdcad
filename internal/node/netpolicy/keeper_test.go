package netpolicy_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/netpolicy"
)

// machine is a kernel that keeps the last script as its table.
type machine struct {
	table   string
	applied int
	refuses error
	index   int // of the bridge
	hides   error
	// prepared are the indexes of the bridges whose packets it sees.
	prepared []int
}

func (m *machine) Prepare(_ context.Context, bridge netpolicy.Bridge) error {
	m.prepared = append(m.prepared, bridge.Index)
	return nil
}

func (m *machine) Bridge(netip.Prefix) (netpolicy.Bridge, error) {
	if m.hides != nil {
		return netpolicy.Bridge{}, m.hides
	}
	return netpolicy.Bridge{Name: "br0", Index: m.index}, nil
}
func (m *machine) List(context.Context) (string, error) { return m.table, m.refuses }
func (m *machine) Remove(context.Context) error         { m.table = ""; return m.refuses }

func (m *machine) Apply(_ context.Context, script string) error {
	if m.refuses == nil {
		m.table, m.applied = script, m.applied+1
	}
	return m.refuses
}

// world is the state that a Keeper reads.
type world struct {
	*netpolicy.Keeper
	machine machine
	network node.Network
	local   node.Pods
	pods    map[string]node.Pods
	subnet  netip.Prefix
	blind   error // why the machine's containers can't be listed
	used    bool
	hold    chan struct{}
	changes int
}

func newWorld(t *testing.T) *world {
	synced := make(chan struct{})
	close(synced)
	return worldOf(filepath.Join(t.TempDir(), "network.json"), synced)
}

func worldOf(file string, synced chan struct{}) *world {
	w := &world{local: node.Pods{netip.MustParseAddr("10.80.0.2"): "shop"},
		network: node.Network{Driver: api.DriverWireGuard, Policy: &node.Policy{}}, used: true, hold: make(chan struct{})}
	close(w.hold)
	w.subnet = netip.MustParsePrefix("10.80.0.0/22")
	w.Keeper = netpolicy.New(netpolicy.Options{
		Network: func() node.Network { return w.network }, Pods: func() map[string]node.Pods { return w.pods },
		Local:  func(context.Context) (node.Pods, error) { return w.local, w.blind },
		Subnet: func(context.Context) (netip.Prefix, error) { return w.subnet, nil }, Used: func() bool { return w.used },
		Synced: synced, Hold: w.hold, File: file, Kernel: &w.machine, Changed: func() { w.changes++ },
		Logger: slog.New(slog.DiscardHandler),
	})
	return w
}

func TestKeeperFollowsPodsAndPolicy(t *testing.T) {
	w := newWorld(t)
	w.Pass(t.Context(), true)
	w.Pass(t.Context(), true)
	w.Pass(t.Context(), false)
	if w.machine.applied != 1 || !strings.Contains(w.machine.table, "10.80.0.2 : goto from-shop") {
		t.Fatalf("applied %d times:\n%s", w.machine.applied, w.machine.table)
	}
	w.local = node.Pods{netip.MustParseAddr("10.80.0.3"): "db"}
	w.Pass(t.Context(), false)
	if !strings.Contains(w.machine.table, "10.80.0.3 : goto from-db") || strings.Contains(w.machine.table, "10.80.0.2") {
		t.Errorf("after another pod:\n%s", w.machine.table)
	}
	w.network.Policy = &node.Policy{Allow: []api.NetworkAllow{{From: []string{"*"}, To: []string{"*"}}}}
	if w.Pass(t.Context(), false); w.machine.table != "" {
		t.Errorf("where all is allowed:\n%s", w.machine.table)
	}
	w.network.Policy = &node.Policy{}
	if w.Pass(t.Context(), false); w.machine.table == "" {
		t.Error("no rules once scopes are apart again")
	}
	w.network = node.Network{}
	if w.Pass(t.Context(), false); w.machine.table != "" {
		t.Errorf("without a network:\n%s", w.machine.table)
	}
}

func TestKeeperPutsBackWhatOthersChanged(t *testing.T) {
	w := newWorld(t)
	w.Pass(t.Context(), true)
	rules := w.machine.table
	for name, changed := range map[string]string{"removed": "", "flushed": "table inet tend {\n}",
		"opened": strings.Replace(rules, "drop", "accept", 1)} {
		w.machine.table = changed
		if w.Pass(t.Context(), true); w.machine.table != rules {
			t.Errorf("%s:\n%s", name, w.machine.table)
		}
	}
}

func TestKeeperLeavesAloneWhatIsNotItsOwn(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a machine without a network": func(w *world) { w.used = false },
		"an older server":             func(w *world) { w.network.Policy = nil },
	} {
		w := newWorld(t)
		change(w)
		if w.Pass(t.Context(), true); w.machine.applied != 0 || w.Fault() != "" {
			t.Errorf("%s: applied %d times, %q", name, w.machine.applied, w.Fault())
		}
	}
}

func TestKeeperSaysWhatKeepsItFromThat(t *testing.T) {
	w := newWorld(t)
	w.machine.refuses = errors.New("nft is missing")
	w.Pass(t.Context(), true)
	w.Pass(t.Context(), true)
	if w.changes != 1 || !strings.Contains(w.Fault(), "scopes are not kept apart: nft is missing") {
		t.Errorf("%d changes, %q", w.changes, w.Fault())
	}
	w.machine.refuses = nil
	if w.Pass(t.Context(), true); w.Fault() != "" || w.machine.table == "" {
		t.Fatalf("afterwards: %q", w.Fault())
	}
	w.machine.refuses = errors.New("nft is missing")
	w.Pass(t.Context(), true)
	if w.Pass(t.Context(), false); w.Fault() == "" {
		t.Error("a pass that checked nothing says that all is well")
	}
	w.machine.refuses, w.changes = nil, 1
	if w.Pass(t.Context(), true); w.changes != 2 || w.Fault() != "" || w.machine.table == "" {
		t.Errorf("afterwards: %d changes, %q", w.changes, w.Fault())
	}
}

// TestKeeperFollowsTheSubnet: a network that is declared with another subnet, and one that the engine has created
// again, count at once.
func TestKeeperFollowsTheSubnet(t *testing.T) {
	w := newWorld(t)
	w.Pass(t.Context(), true)
	w.subnet, w.network.Subnet = netip.MustParsePrefix("10.90.0.0/22"), netip.MustParsePrefix("10.90.0.0/22")
	if w.Pass(t.Context(), false); !strings.Contains(w.machine.table, "elements = { 10.90.0.0/22 }") {
		t.Errorf("declared with another subnet:\n%s", w.machine.table)
	}
	w.subnet, w.local = netip.MustParsePrefix("10.99.0.0/22"), node.Pods{netip.MustParseAddr("10.99.0.2"): "db"}
	if w.Pass(t.Context(), false); !strings.Contains(w.machine.table, "10.99.0.2 : goto from-db") {
		t.Errorf("created again, with a container:\n%s", w.machine.table)
	}
}

// TestKeeperPreparesEveryBridge: also one that was created again under the same name.
func TestKeeperPreparesEveryBridge(t *testing.T) {
	w := newWorld(t)
	w.machine.index = 4
	w.Pass(t.Context(), true)
	w.Pass(t.Context(), false)
	w.machine.index = 5
	w.Pass(t.Context(), false)
	if want := []int{4, 5}; !slices.Equal(w.machine.prepared, want) {
		t.Errorf("prepared %v, want %v", w.machine.prepared, want)
	}
}

// TestAnUnlistedBridgeIsNotGone: while the interfaces of the machine can't be listed, its rules stay.
func TestAnUnlistedBridgeIsNotGone(t *testing.T) {
	w := newWorld(t)
	w.Pass(t.Context(), true)
	rules := w.machine.table
	w.machine.hides = errors.New("interrupted")
	if w.Pass(t.Context(), true); w.machine.table != rules || !strings.Contains(w.Fault(), "interrupted") {
		t.Errorf("%q:\n%s", w.Fault(), w.machine.table)
	}
	w.machine.hides = nil
	if w.Pass(t.Context(), false); w.machine.table != rules || w.Fault() != "" {
		t.Errorf("afterwards %q:\n%s", w.Fault(), w.machine.table)
	}
}

// TestKeeperWorksWithoutAServer: a restarted agent that reaches no server enforces the last known policy, with the last
// known pods of other nodes, for the engine's containers: also for those that start meanwhile, and whether or not rules
// are in place.
func TestKeeperWorksWithoutAServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "network.json")
	synced := make(chan struct{})
	close(synced)
	before := func() *world {
		w := worldOf(file, synced)
		w.network.Policy = &node.Policy{Allow: []api.NetworkAllow{{From: []string{"shop"}, To: []string{"db"}}}}
		w.network.Peers = map[string]node.Peer{"n2": {Subnet: netip.MustParsePrefix("10.80.4.0/22")}}
		return w
	}
	runs(t, before, func(w *world) { // pods are kept at the end too
		w.pods = map[string]node.Pods{"n2": {netip.MustParseAddr("10.80.4.2"): "db"}}
	})
	without := func() *world {
		w := worldOf(file, make(chan struct{}))
		w.network = node.Network{}
		return w
	}
	for name, table := range map[string]string{"the machine was started again": "",
		"the agent was started again": "what stood"} {
		t.Run(name, func(t *testing.T) {
			runs(t, func() *world { w := without(); w.machine.table = table; return w }, func(w *world) {
				for _, rule := range []string{"10.80.0.2 : goto from-shop", "10.80.4.2 : goto from-db",
					"@pods-db accept\n\t\tct original ip daddr @pods-shop accept"} {
					if !strings.Contains(w.machine.table, rule) {
						t.Errorf("%q is not in the table:\n%s", rule, w.machine.table)
					}
				}
				w.local = node.Pods{netip.MustParseAddr("10.80.0.2"): "shop", netip.MustParseAddr("10.80.0.3"): "db"}
				w.passes()
				if !strings.Contains(w.machine.table, "10.80.0.3 : goto from-db") {
					t.Errorf("a container that started meanwhile is not in the table:\n%s", w.machine.table)
				}
				last := w.machine.table
				w.local, w.blind = nil, errors.New("the engine does not answer")
				if w.passes(); w.machine.table != last {
					t.Errorf("what can't be seen has changed the table:\n%s", w.machine.table)
				}
			})
		})
	}
	runs(t, before, func(w *world) { w.network = node.Network{} })
	runs(t, without, func(w *world) {
		if w.machine.table != "" {
			t.Errorf("of a network that was deleted there are rules:\n%s", w.machine.table)
		}
	})
}

// passes makes a running Keeper run another pass, and waits for its end.
func (w *world) passes() {
	w.Notify()
	<-time.After(time.Second)
	synctest.Wait()
}

// runs runs a Keeper while something is checked, or changed.
func runs(t *testing.T, of func() *world, check func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := of()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		check(w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
