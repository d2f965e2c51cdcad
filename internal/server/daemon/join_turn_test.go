package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// TestWrongTokensWaitForNobody: while a machine joins, an invalid token is refused at once, and a machine that waits
// may go.
func TestWrongTokensWaitForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{Options: Options{Options: host.Options{Now: time.Now}}, store: memory.New(),
			joining: make(chan struct{}, 1)}
		defer d.store.Close()
		_, known := join.NewToken(api.JoinAsNode, "f")
		_, unknown := join.NewToken(api.JoinAsNode, "f")
		_, ofServer := join.NewToken(api.JoinAsServer, "f")
		record := records.JoinToken{Hash: known.Hash,
			JoinTokenInfo: api.JoinTokenInfo{ID: known.ID, Role: api.JoinAsNode, Uses: 1, ExpiresAt: time.Now().Add(time.Hour)}}
		if _, err := records.NewTxn("test").Put(records.JoinTokenKey(known.ID), record).Commit(t.Context(),
			d.store); err != nil {
			t.Fatal(err)
		}
		d.joining <- struct{}{} // another join is in progress
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var problem *api.Problem
		if _, err := d.enter(ctx, join.Applicant{Secret: unknown, Name: "n"}); !errors.As(err, &problem) ||
			problem.Title != "TokenRefused" {
			t.Errorf("a node: %v", err)
		}
		if _, err := d.useToken(ctx, join.Applicant{Secret: ofServer, Name: "s"}); !errors.As(err, &problem) ||
			problem.Title != "TokenRefused" {
			t.Errorf("a server: %v", err)
		}
		if ctx.Err() != nil {
			t.Error("they waited")
		}
		if _, err := d.enter(ctx, join.Applicant{Secret: known, Name: "n"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a machine that waits for its turn: %v", err)
		}
	})
}
