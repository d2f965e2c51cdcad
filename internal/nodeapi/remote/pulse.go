package remote

import (
	"context"
	"time"
)

// A node gives a server up after silentTime without a sign of life: a frame of the stream, or the answer to one of its
// heartbeats. So while those are answered, the server sends an empty frame only at every spared-th interval, and a stream
// on which nothing comes is given up after stuckTime.
const (
	heartbeatEvery = 5 * time.Second
	silentTime     = 3 * heartbeatEvery
	spared         = 6
	stuckTime      = 3 * spared * heartbeatEvery
)

// countsAnswers is the parameter with which a node says that an answer is a sign of life to it. Older ones don't.
const countsAnswers = "answers"

// heartbeat calls beat at each interval, with its number.
func heartbeat(ctx context.Context, beat func(n int)) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			beat(n)
		}
	}
}

// answered reports whether a node's heartbeat was answered so lately that it needs no other sign of life before the next interval.
func (h *Handler) answered(node string) bool {
	at, ok := h.answers.Load(node)
	return ok && time.Since(at.(time.Time)) < heartbeatEvery*3/2
}

// heard tells the stream that the server has answered.
func (c *Client) heard() {
	if silent := c.silent.Load(); silent != nil {
		silent.Reset(silentTime)
	}
}
