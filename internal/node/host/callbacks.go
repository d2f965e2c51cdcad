package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
)

// nodeName is the host name under which a container reaches its node.
const nodeName = "host.docker.internal"

// gatewayer is a runtime whose containers reach their node at a specific address.
type gatewayer interface {
	Gateway(ctx context.Context) (netip.Addr, error)
}

// callbacks is the listener for containers that call the server back. It opens when an object has such containers.
type callbacks struct {
	port   int
	serve  func(ctx context.Context, listener net.Listener) error
	addr   func(ctx context.Context) (netip.Addr, error)
	wanted func() bool
	warn   func(msg string, args ...any)
	// again triggers a new check of wanted and addr, because objects changed.
	again chan struct{}
}

// newCallbacks makes the listener. It returns nil if the options or the runtime don't support callbacks.
func (h *Host) newCallbacks() *callbacks {
	c := &callbacks{port: h.CallbackPort, serve: h.serveContainers, again: make(chan struct{}, 1),
		wanted: h.anyCallsBack, warn: h.Logger.Warn}
	switch gateway := h.gateway; {
	case h.controllerURL() == "":
		return nil
	case h.Runtime == runtimeProcess:
		c.addr = func(context.Context) (netip.Addr, error) { return netip.MustParseAddr("127.0.0.1"), nil }
	case gateway != nil:
		c.addr = gateway.Gateway
	default:
		return nil
	}
	h.Control.Subscribe(func(change node.Change) {
		if assigned, known := h.Control.Task(change.Task); known && assigned.CallsBack {
			select {
			case c.again <- struct{}{}:
			default:
			}
		}
	})
	return c
}

// controllerURL returns the URL at which containers of this machine reach the listener, or "".
func (h *Host) controllerURL() string {
	if h.CallbackPort <= 0 || h.Callbacks == nil {
		return ""
	}
	name := nodeName
	if h.Runtime == runtimeProcess {
		name = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(name, strconv.Itoa(h.CallbackPort))
}

func (h *Host) anyCallsBack() bool {
	return slices.ContainsFunc(h.Control.Tasks(), func(id string) bool {
		assigned, known := h.Control.Task(id)
		return known && assigned.CallsBack
	})
}

// The limits of a container's call.
const (
	callHeaderTime = 10 * time.Second
	callTime       = 3 * time.Minute
	callIdleTime   = time.Minute
	maxCalls       = 1024
)

// serveContainers answers containers on a listener until ctx ends.
func (h *Host) serveContainers(ctx context.Context, listener net.Listener) error {
	served := &http.Server{
		Handler: h.Callbacks, ReadHeaderTimeout: callHeaderTime, ReadTimeout: callTime, WriteTimeout: callTime,
		IdleTimeout:    callIdleTime,
		MaxHeaderBytes: 64 << 10, ConnState: connlimit.Note, ErrorLog: slog.NewLogLogger(h.Logger.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = served.Close() })
	defer stop()
	limited := connlimit.New(listener, connlimit.Options{
		Total: connlimit.Within(connlimit.Files(), 8, maxCalls), Reclaim: func() { connlimit.CloseIdle(served) },
		Name: "container callbacks", Logger: h.Logger,
	})
	if err := served.Serve(limited); !errors.Is(err, http.ErrServerClosed) || ctx.Err() == nil {
		return err
	}
	return nil
}

// checkInterval is the interval at which the listener's address is compared with the wanted one, and a failed listener
// is retried.
const checkInterval = 30 * time.Second

// run listens while some object has callbacks. If it can't listen at an address, it logs that and retries: containers
// run without callbacks.
func (c *callbacks) run(ctx context.Context) error {
	var at netip.Addr
	shut := func() {}
	defer func() { shut() }()
	tick := time.NewTicker(checkInterval)
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
				c.warn("containers can't call the server back, so their plugins' hooks fail; retrying", "in", checkInterval, "port",
					c.port, "error", err)
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
		return func() {}, fmt.Errorf("listen for containers' calls: %w: choose another --callback-port", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	recovery.Go(func() {
		defer close(done)
		if err := c.serve(ctx, listener); err != nil && !errors.Is(err, net.ErrClosed) {
			c.warn("serving containers ended", "error", err)
		}
	})
	return func() { cancel(); <-done }, nil
}
