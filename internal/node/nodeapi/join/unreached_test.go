package join_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"tend.dev/tend/internal/node/nodeapi/join"
)

// TestNoServerIsReached: the error says what to look for, whichever way the network fails.
func TestNoServerIsReached(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	synctest.Test(t, func(t *testing.T) {
		for want, dial := range map[string]join.Dial{
			"no answer within 30s: ": func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done() // a firewall that drops what it doesn't let through
				return nil, ctx.Err()
			},
			"connect: connection refused: ": func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, closed.Addr().String())
			},
		} {
			token := "tendserver1." + strings.Repeat("0", 64) + ".a.b"
			_, err := join.JoinServer(t.Context(), dial, "https://10.0.0.1:8688", token, join.Server{Name: "b"})
			const next = "check that a server listens there (--node-listen) and that no firewall drops its port"
			if err == nil || err.Error() != "join the servers at https://10.0.0.1:8688: "+want+next {
				t.Errorf("%q, want %q and what to look for", err, want)
			}
		}
	})
}
