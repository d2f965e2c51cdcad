package ingress

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// retryBind is the interval between attempts to open a listener that could not be opened.
const retryBind = 5 * time.Second

// ListenerState is the state of one listener.
type ListenerState struct {
	// Address is the configured address, and once the listener is open the actual one.
	Address string
	Wanted  bool
	Open    bool
	// Error is the reason why the listener is not open.
	Error string
}

// opened is an open listener with its server.
type opened interface {
	// shut stops accepting, and returns once all connections have ended.
	shut()
}

// kept is a listener that is open as long as it is wanted. If it can't be opened, that is retried.
type kept struct {
	// open opens the listener, and returns its actual address.
	open func(ctx context.Context, address string) (opened, string, error)
	// left, if set, is called after the listener was closed because it isn't wanted any more, but not at the end of the
	// process.
	left    func()
	changed func()
	log     *slog.Logger
	wake    chan struct{}

	mu  sync.Mutex
	now ListenerState
}

func newKept(
	address string, opts ListenOptions, open func(ctx context.Context, address string) (opened, string, error),
) *kept {
	return &kept{open: open, changed: opts.Changed, log: opts.Logger, wake: make(chan struct{}, 1),
		now: ListenerState{Address: address}}
}

func (k *kept) state() ListenerState {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *kept) want(wanted bool) {
	k.mu.Lock()
	k.now.Wanted = wanted
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *kept) note(open bool, address string, err error) {
	k.mu.Lock()
	before := k.now
	k.now.Open, k.now.Error = open, ""
	if err != nil {
		k.now.Error = err.Error()
	}
	if open {
		k.now.Address = address
	}
	changed := before != k.now
	k.mu.Unlock()
	if changed {
		k.changed()
	}
}

// run opens and closes the listener as it becomes wanted and unwanted, until ctx ends.
func (k *kept) run(ctx context.Context) {
	var now opened
	defer func() {
		if now != nil {
			now.shut()
		}
	}()
	retry := time.NewTimer(retryBind)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-retry.C:
		}
		switch wanted := k.state().Wanted; {
		case wanted && now == nil:
			next, address, err := k.open(ctx, k.state().Address)
			if err != nil {
				k.log.Warn("ingress can't listen", "address", k.state().Address, "error", err)
				retry.Reset(retryBind)
				k.note(false, "", err)
				continue
			}
			now = next
			k.note(true, address, nil)
		case !wanted && now != nil:
			now.shut()
			now = nil
			if k.left != nil {
				k.left()
			}
			k.note(false, "", nil)
		case !wanted:
			k.note(false, "", nil)
		}
	}
}
