package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// reached lists, for each option that is a time, a size or a number, the fields of the server's parts that must have
// its value. The server itself reads options without a field from its options.
var reached = map[string][]string{
	"CallbackPort":      {"host.callbacks.port"},
	"Starts":            {"host.agent.opts.Workers", "host.agent.tasks.opts.Workers"},
	"Resync":            {"plane.Options.Resync", "host.agent.opts.Resync", "host.agent.tasks.opts.Resync"},
	"Heartbeat":         {"host.agent.opts.Heartbeat", "nodes.Options.Heartbeat"},
	"NodeTimeout":       {"plane.Options.NodeTimeout", "plane.liveness.timeout"},
	"AutoscaleInterval": {"plane.Options.AutoscaleInterval", "host.agent.opts.LoadWindow"},
	"MinFree":           {"files.blobs.free"},
	"Build.Timeout":     {"host.builder.opts.Timeout"},
	"Build.MaxBytes":    {"host.builder.opts.MaxBytes"},
	"Build.AtOnce":      {"host.agent.opts.Builds"},
	"PluginTimeout":     {"plugins.Options.Root.opts.Timeout"},
	"Backups.Keep":      nil, // TestScheduledBackups
	"Events.Count":      nil, // TestEventsBeyondTheRetentionAreGone
	"Events.Age":        nil,
	"Events.Bytes":      nil,
	"AuditLog.Count":    nil,
	"AuditLog.Age":      nil,
	"AuditLog.Bytes":    nil,
}

// numbers returns the fields of options that are numbers, by their path. Those of embedded options have no prefix.
func numbers(options reflect.Value, path string) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for i := range options.NumField() {
		field, name := options.Field(i), path+options.Type().Field(i).Name+"."
		if options.Type().Field(i).Anonymous {
			name = path
		}
		switch {
		case !field.CanSet():
		case field.CanInt():
			out[strings.TrimSuffix(name, ".")] = field
		case field.Kind() == reflect.Struct:
			maps.Copy(out, numbers(field, name))
		}
	}
	return out
}

// at returns the field of a part by its path.
func at(part reflect.Value, path string) (reflect.Value, error) {
	for _, name := range strings.Split(path, ".") {
		for part.Kind() == reflect.Pointer || part.Kind() == reflect.Interface {
			part = part.Elem()
		}
		if part.Kind() != reflect.Struct || !part.FieldByName(name).IsValid() {
			return part, fmt.Errorf("%s: there is no %s", path, name)
		}
		part = part.FieldByName(name)
	}
	return part, nil
}

// TestOptionsReachTheirParts: each time, size and number of a flag is passed to the parts that need it. Every option
// has a different value, so that none is mistaken for another.
func TestOptionsReachTheirParts(t *testing.T) {
	m := newMachine(t)
	if err := os.Mkdir(filepath.Join(m.root, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Options: host.Options{
			Root: m.root, Node: "n1", Runtime: "process", Logger: slog.New(slog.DiscardHandler),
			Engine: func(cluster, node string) (runtime.Runtime, error) { return m.engine.Client(cluster, node), nil },
		},
		HTTP: "off", Store: kept{m.store},
	}
	options := numbers(reflect.ValueOf(&o).Elem(), "")
	for i, name := range slices.Sorted(maps.Keys(options)) {
		if _, known := reached[name]; !known {
			t.Errorf("%s: say which part it must reach", name)
		}
		options[name].SetInt(int64(5000 + i))
		if options[name].Type() == reflect.TypeFor[time.Duration]() {
			options[name].SetInt(int64(time.Duration(5000+i) * time.Second))
		}
	}
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{Options: o, fatal: func(cause error) { t.Error(cause) }}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	for _, open := range d.opening()[:7] { // up to the host: the listeners are of no matter
		if err := open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, paths := range reached {
		option, known := options[name]
		if !known {
			t.Errorf("there is no option %s", name)
			continue
		}
		for _, path := range paths {
			if field, err := at(reflect.ValueOf(d), path); err != nil || field.Int() != option.Int() {
				t.Errorf("%s: %v, %v; want %d", path, field, err, option.Int())
			}
		}
	}
	if granted := d.nodes.Lease; granted+d.plane.NodeGather != o.NodeTimeout {
		t.Errorf("the server grants every node's heartbeat %s, and gathers for %s: together not %s", granted,
			d.plane.NodeGather, o.NodeTimeout)
	}
	lasts, err := at(reflect.ValueOf(d), "host.agent.opts.HeartbeatTTL")
	if gather := d.plane.NodeGather; err != nil || lasts.Int()+int64(gather) != int64(o.NodeTimeout) {
		t.Errorf("a heartbeat lasts %v, %v, and the server gathers for %s: together not %s", lasts, err,
			gather, o.NodeTimeout)
	}
}

// counting counts the watches of a store.
type counting struct {
	store.Store
	watches atomic.Int64
}

func (c *counting) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	c.watches.Add(1)
	return c.Store.Watch(ctx, prefix, from)
}

func (*counting) Close() error { return nil }

// silent is a listener that nobody connects to.
type silent struct {
	net.Listener
	closed context.Context
	close  context.CancelFunc
}

func newSilent() *silent {
	s := &silent{}
	s.closed, s.close = context.WithCancel(context.Background())
	return s
}

func (s *silent) Accept() (net.Conn, error) { <-s.closed.Done(); return nil, net.ErrClosed }
func (s *silent) Close() error              { s.close(); return nil }
func (s *silent) Addr() net.Addr            { return &net.UnixAddr{Name: "silent", Net: "unix"} }

// inBubble runs a server on a virtual clock over a store with a deployment, and ends it after then.
func inBubble(t *testing.T, edit func(*Options), then func(t *testing.T, s *counting, registry *prometheus.Registry)) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		engine, s, registry := hollow.NewEngine(), &counting{Store: memory.New()}, prometheus.NewRegistry()
		engine.AddImage("web:1")
		web := manifestOf(web, nil)
		if _, err := records.NewTxn("test").Put(records.ObjectKey(web.Ref()), web).Commit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		o := Options{
			Options: host.Options{
				Root: root, Node: "n1", Runtime: "hollow", MinFree: -1, Logger: slog.New(slog.DiscardHandler),
				Engine: func(cluster, node string) (runtime.Runtime, error) { return engine.Client(cluster, node), nil },
			},
			HTTP: "off", Store: s, Registry: registry, Listener: newSilent(),
		}
		edit(&o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, o) }()
		synctest.Wait()
		then(t, s, registry)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		engine.Close()
		_ = s.Store.Close()
	})
}

// TestOneSubscriptionFeedsAllHandlers: however many kinds, controllers and nodes there are, the store is watched once.
func TestOneSubscriptionFeedsAllHandlers(t *testing.T) {
	inBubble(t, func(*Options) {}, func(t *testing.T, s *counting, _ *prometheus.Registry) {
		time.Sleep(time.Minute)
		if n := s.watches.Load(); n != 1 {
			t.Errorf("%d watches", n)
		}
	})
}

// TestResyncIsTheFlag: each controller, and the agent, passes over everything once in each interval.
func TestResyncIsTheFlag(t *testing.T) {
	edit := func(o *Options) { o.Resync = 47 * time.Second }
	inBubble(t, edit, func(t *testing.T, _ *counting, registry *prometheus.Registry) {
		time.Sleep(48 * time.Second * 10)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != "tend_reconciliation_cycles_total" {
				continue
			}
			if len(family.GetMetric()) < 10 {
				t.Errorf("%d kinds make passes", len(family.GetMetric()))
			}
			for _, kind := range family.GetMetric() {
				// Images have no pass: the workloads that need one request it.
				if n := kind.GetCounter().GetValue(); n != 10 && kind.GetLabel()[0].GetValue() != "image" {
					t.Errorf("%v passes of %s in ten intervals", n, kind.GetLabel()[0].GetValue())
				}
			}
			return
		}
		t.Error("no passes are counted")
	})
}

// TestNodeTimeoutIsTheFlag: a node that never answered is lost when the timeout of the flag is over, and not before.
func TestNodeTimeoutIsTheFlag(t *testing.T) {
	const timeout = 97 * time.Second
	edit := func(o *Options) { o.NodeTimeout = timeout }
	inBubble(t, edit, func(t *testing.T, s *counting, _ *prometheus.Registry) {
		began := time.Now()
		txn := records.NewTxn("test")
		for _, node := range []string{"n2", "n3"} {
			txn.Put(records.NodeKey(node), api.NodeStatus{ID: node, Runtime: "hollow", Ready: true})
		}
		if _, err := txn.Put(records.AliveKey("n3"), "now").Commit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		lost := func() bool {
			_, err := s.Get(t.Context(), records.LossesKey("n2"))
			return err == nil
		}
		for !lost() {
			if time.Since(began) > 2*timeout {
				t.Fatal("it is never lost")
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took < timeout || took > timeout+time.Second {
			t.Errorf("it is lost after %s, want %s", took, timeout)
		}
	})
}

// TestTheTimesOfAMachine are those of the documents where no flag says otherwise.
func TestTheTimesOfAMachine(t *testing.T) {
	o := host.Options{}.WithDefaults()
	want := [...]time.Duration{5 * time.Second, 30 * time.Second, 10 * time.Second, 15 * time.Second}
	if got := [...]time.Duration{o.Heartbeat, o.NodeTimeout, o.Resync, o.AutoscaleInterval}; got != want {
		t.Errorf("heartbeat, node timeout, resync and autoscaler: %v, want %v", got, want)
	}
}
