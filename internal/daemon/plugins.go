package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/manifest"
	"tend.dev/tend/internal/plugin"
	"tend.dev/tend/internal/plugin/broker"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/view"
)

// buildPlugins opens the plugins and creates the broker that calls them.
func (d *daemon) buildPlugins() (*broker.Broker, error) {
	socket, err := filepath.Abs(filepath.Join(d.Root, "tend.sock"))
	if err != nil {
		return nil, err
	}
	root, err := plugin.Open(plugin.Options{Dir: d.Plugins, Timeout: d.PluginTimeout, Node: d.Name, Etcd: d.EtcdClient, Server: "unix://" + socket})
	if root == nil {
		return nil, err
	}
	if err != nil { // the server starts without plugins if they fail
		d.Logger.Warn("the folder of plugins is not in order", "folder", d.Plugins, "error", err)
	}
	return broker.New(broker.Options{Root: root, Intents: d.intents, Snapshot: d.snapshot, Decode: manifest.Decode, Knows: manifest.HasField}), nil
}

// nodeName is the host name under which a container reaches its node.
const nodeName = "host.docker.internal"

// gatewayer is a runtime whose containers reach their node at an address of its own.
type gatewayer interface {
	Gateway(ctx context.Context) (netip.Addr, error)
}

// callbacks is the listener for containers that call the server back. It is opened once an object has such containers.
type callbacks struct {
	port   int
	serve  func(ctx context.Context, listener net.Listener) error
	addr   func(ctx context.Context) (netip.Addr, error)
	wanted func() bool
	warn   func(msg string, args ...any)
	// again triggers a new check of wanted and addr, because objects changed.
	again chan struct{}
}

// newCallbacks makes the listener; nil if the options or the runtime have none.
func (d *daemon) newCallbacks() *callbacks {
	c := &callbacks{port: d.CallbackPort, serve: d.server.ServeContainers, again: make(chan struct{}, 1),
		wanted: func() bool { return anyCallsBack(d.snapshot()) }, warn: d.Logger.Warn}
	switch gateway := d.gateway; {
	case d.CallbackPort <= 0:
		return nil
	case d.Runtime == runtimeProcess:
		c.addr = func(context.Context) (netip.Addr, error) { return netip.MustParseAddr("127.0.0.1"), nil }
	case gateway != nil:
		c.addr = gateway.Gateway
	default:
		return nil
	}
	d.view.OnChange(func(change view.Change) {
		if object, ok := change.New.(*api.Object); ok && object.CallsBack() {
			select {
			case c.again <- struct{}{}:
			default:
			}
		}
	})
	return c
}

func anyCallsBack(snap layout.Snapshot) bool {
	for _, kind := range api.Kinds {
		if !kind.HasSlots() {
			continue
		}
		for object := range snap.Objects(kind) {
			if object.Value.CallsBack() {
				return true
			}
		}
	}
	return false
}

// lookAgain is the interval at which the listener's address is compared with the wanted one, and a failed listener
// retried.
const lookAgain = 30 * time.Second

// run listens while some object has callbacks. It logs an address that it can't listen at and retries: containers run
// without it.
func (c *callbacks) run(ctx context.Context) error {
	var at netip.Addr
	shut := func() {}
	defer func() { shut() }()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if c.wanted() {
			address, err := c.addr(ctx)
			if err == nil && address != at {
				shut()
				if at, shut = address, func() {}; err == nil {
					if shut, err = c.listen(ctx, address); err != nil {
						at = netip.Addr{}
					}
				}
			}
			if err != nil && ctx.Err() == nil {
				c.warn("containers can't call the server back: their plugins' hooks fail; tried again", "in", lookAgain, "port", c.port, "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-c.again:
		case <-ctx.Done():
			return nil
		}
	}
}

// listen serves at an address until shut is called.
func (c *callbacks) listen(ctx context.Context, address netip.Addr) (shut func(), err error) {
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, uint16(c.port)).String())
	if err != nil {
		return func() {}, fmt.Errorf("listen for containers: %w: choose another --callback-port", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.serve(ctx, listener); err != nil && !errors.Is(err, net.ErrClosed) {
			c.warn("serving containers ended", "error", err)
		}
	}()
	return func() { cancel(); <-done }, nil
}

// controllerURL returns where the containers of an object call the server back; empty if they don't.
func (d *daemon) controllerURL(object api.Object) string {
	if d.CallbackPort <= 0 || !object.CallsBack() {
		return ""
	}
	host := nodeName
	if d.Runtime == runtimeProcess {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(d.CallbackPort)) + "/t/" + server.ContainerToken(d.keys.HMAC, object)
}
