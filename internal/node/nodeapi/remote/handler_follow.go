package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/recovery"
)

// A node whose machine is held back follows a paused server too: it asks with heldParameter, and is answered with
// pausedHeader.
const (
	heldParameter = "held"
	pausedHeader  = "Tend-Paused"
)

// pauseLook is the time between two looks whether a pause is over.
const pauseLook = time.Second

func (h *Handler) follow(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	if err := h.Current(r.Context(), 0); err != nil { // it may not know that a pause has begun, or is over
		return err
	}
	why := h.Paused()
	if why != "" && !r.URL.Query().Has(heldParameter) {
		return fmt.Errorf("%w: %s", node.ErrPaused, why)
	}
	since, err := sinceIn(r.URL.Query())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out, encoder := http.NewResponseController(w), json.NewEncoder(w)
	leave, err := h.bounds.follow(ctx, c.ID(), func() {
		cancel()
		_ = out.SetWriteDeadline(time.Unix(1, 0)) // what it doesn't read is given up
	})
	if err != nil {
		return err
	}
	defer leave()
	if err := h.ready(ctx, c, r, since); err != nil {
		return err
	}
	if why != "" {
		w.Header().Set(pausedHeader, "yes")
		recovery.Go(func() { h.whilePaused(ctx, cancel) })
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	var sending sync.Mutex
	send := func(frame node.Frame) error {
		sending.Lock()
		defer sending.Unlock()
		defer wire.Await(out)()
		if err := encoder.Encode(frame); err != nil {
			return err
		}
		return out.Flush()
	}
	beats := newPulse(func() {
		if h.Current(ctx, 0) != nil { // another server may know more
			cancel()
			return
		}
		_ = send(node.Frame{})
	})
	h.spared.Store(c.ID(), beats)
	defer h.spared.CompareAndDelete(c.ID(), beats)
	defer beats.stop() // who writes to an answer after its handler returned panics
	defer cancel()
	if err := c.Follow(ctx, r.URL.Query().Get("epoch"), since, send); err != nil && r.Context().Err() == nil {
		h.Logger.Debug("a node is followed no longer", "node", c.ID(), "error", err)
	}
	return nil
}

// whilePaused ends a stream with the pause.
func (h *Handler) whilePaused(ctx context.Context, end func()) {
	ticker := time.NewTicker(pauseLook)
	defer ticker.Stop()
	for h.Paused() != "" {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	end()
}

// ready waits until the server knows enough to be followed from a revision. The node may be removed meanwhile.
func (h *Handler) ready(ctx context.Context, c *local.Control, r *http.Request, since int64) error {
	if err := h.Current(ctx, since); err != nil {
		return err
	}
	if since == 0 {
		if err := h.Fresh(ctx); err != nil {
			return err
		}
	}
	select {
	case <-c.Synced():
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, err := h.Node(r); err != nil {
		return notANode(err)
	}
	return nil
}
