package daemon

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/nodeapi/session"
	"tend.dev/tend/internal/store/records"
)

// TestAHostileNodeIsCutOff: a removed node that wants to stay is cut off at once: its heartbeat, its stream, its
// session and its certificate end, the answer lists what it could read, and it can't return until a person lets the
// machine join again.
func TestAHostileNodeIsCutOff(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsIngress})
	if err != nil {
		t.Fatal(err)
	}
	hostile, err := joins(t, token, "evil")
	if err != nil {
		t.Fatal(err)
	}
	if err := says(t, hostile, "report", `{"node":{"id":"evil","ready":true,"runtime":"docker"}}`); err != nil {
		t.Fatal(err)
	}
	if err := says(t, hostile, "alive?ttl=876000h", ""); err != nil {
		t.Fatal(err)
	}
	ended := []<-chan struct{}{streams(t, hostile), keepsSession(t, hostile)}
	if _, err := r.client.RemoveNode(t.Context(), "evil", client.RemoveOptions{}); err == nil ||
		!strings.Contains(err.Error(), "still connected") {
		t.Errorf("without --force: %v", err)
	}
	result, err := r.client.RemoveNode(t.Context(), "evil", client.RemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rotate) > 0 {
		t.Errorf("to rotate, of a node that could read nothing: %q", result.Rotate)
	}
	for i, end := range ended {
		select {
		case <-end:
		case <-time.After(time.Minute):
			t.Errorf("connection %d is still open", i)
		}
	}
	for _, path := range []string{"alive", "report", "certificates/list"} {
		if err := says(t, hostile, path, `1`); err == nil || !strings.Contains(err.Error(), "removed from the cluster") {
			t.Errorf("%s after its end: %v", path, err)
		}
	}
	if _, err := hostile.Renew(t.Context(), webOf(t, hostile)); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("renews: %v", err)
	}
	if _, err := r.store.Get(t.Context(), records.AliveKey("evil")); err == nil {
		t.Error("its heartbeat stands")
	}
	if _, err := joins(t, token, "evil"); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("joins with its token: %v", err)
	}
}

// says sends a raw request of a node.
func says(t *testing.T, m join.Membership, path, body string) error {
	t.Helper()
	answer, err := webOf(t, m).Post(m.Server+"/node/v1/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode >= http.StatusBadRequest {
		return &api.Problem{Status: answer.StatusCode, Detail: string(text)}
	}
	return nil
}

// streams opens the node's streams, and returns a channel that is closed when they end.
func streams(t *testing.T, m join.Membership) <-chan struct{} {
	t.Helper()
	answer, err := webOf(t, m).Get(m.Server + "/node/v1/follow")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
	}()
	return ended
}

// keepsSession opens the connection on which the server sends requests to the node, and returns a channel that is
// closed when it ends.
func keepsSession(t *testing.T, m join.Membership) <-chan struct{} {
	t.Helper()
	pair, err := m.Pair()
	if err != nil {
		t.Fatal(err)
	}
	config, err := authority.NodeTLS(m.Authority, func() (*tls.Certificate, error) { return &pair, nil }, session.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(context.Background(), "tcp",
		strings.TrimPrefix(m.Server, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	return ended
}

// TestSlowConnectionsShutOutNoNode: a machine that opens silent connections to the listener for nodes leaves room for
// the others, even behind the same address; open sessions stay.
func TestSlowConnectionsShutOutNoNode(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	honest, err := joins(t, token, "honest")
	if err != nil {
		t.Fatal(err)
	}
	session := keepsSession(t, honest)
	address := strings.TrimPrefix(honest.Server, "https://")
	for range maxNodeConns/2 + 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for range 5 {
		if err := asks(t, honest); err != nil {
			t.Fatalf("another machine: %v", err)
		}
	}
	select {
	case <-session:
		t.Error("the session of a node was closed for it")
	default:
	}
}
