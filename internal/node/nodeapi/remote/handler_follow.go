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
)

// A node whose machine is held back follows a paused server too: it asks with heldParameter, and is answered with
// pausedHeader.
const (
	heldParameter = "held"
	pausedHeader  = "Tend-Paused"
)

// pauseLook is the time between two looks whether a pause has begun, or is over.
const pauseLook = time.Second

func (h *Handler) follow(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	why, err := h.pauseFor(r)
	if err != nil {
		return err
	}
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
	}
	defer h.endWithPause(why != "", cancel).stop()
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
	beats := newPulse(answerTime, func() {
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

// pauseFor returns the reason for the cluster's pause, or an error if this server may not know that a pause has begun,
// or is over. An answer that ends the node's client, and with it a life of the machine, is given only when the server
// has caught up with the others: any other answer is corrected without that.
func (h *Handler) pauseFor(r *http.Request) (string, error) {
	if err := h.Current(r.Context(), 0); err != nil {
		return h.Paused(), err
	}
	why := h.Paused()
	if held := r.URL.Query().Has(heldParameter); held == (why != "") {
		return why, nil
	}
	err := h.Fresh(r.Context())
	return h.Paused(), err
}

// endWithPause ends a stream when a pause begins, or when the one within which it began is over: held back, or no
// longer, the machine follows again.
func (h *Handler) endWithPause(paused bool, end func()) *pulse {
	return newPulse(pauseLook, func() {
		if (h.Paused() != "") != paused {
			end()
		}
	})
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
