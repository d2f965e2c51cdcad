package session

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/cenkalti/backoff/v5"

	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/platform/delay"
)

// The backoff between two attempts to connect: doubling, with jitter.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
)

// Keep answers the server's requests until ctx ends, and dials again whenever the connection is lost. It returns an
// error of dial that final says is for good.
func Keep(ctx context.Context, dial func(context.Context) (net.Conn, error), final func(error) bool, n nodeapi.Node,
	ready <-chan struct{}, log *slog.Logger) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = firstWait, longWait, 2
	for ctx.Err() == nil {
		conn, err := dial(ctx)
		switch {
		case err == nil:
			began := time.Now()
			Serve(ctx, conn, n, ready, log)
			if time.Since(began) > longWait { // a server refuses a certificate only after the node's half of the handshake
				wait.Reset()
			}
		case final(err):
			return err
		case ctx.Err() == nil:
			log.Debug("the server can't be reached for logs and commands; tried again", "error", err)
		}
		_ = delay.For(ctx, wait.NextBackOff()) // the loop sees the end of ctx
	}
	return nil
}
