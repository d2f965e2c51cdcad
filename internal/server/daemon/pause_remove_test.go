package daemon

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestANodeIsRemovedWhilePaused: one that was removed after the backup is a member again, and reads what held nodes may
// read. It can be cut off before tend resume; nothing else is changed.
func TestANodeIsRemovedWhilePaused(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen, o.Paused = "127.0.0.1:0", true })
	r.wantPaused(0)
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsIngress})
	if err != nil {
		t.Fatal(err)
	}
	hostile, err := joins(t, token, "evil")
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		"report": `{"node":{"id":"evil","ready":true,"runtime":"docker"}}`, "alive?ttl=876000h": "",
	} {
		if err := says(t, hostile, path, body); err != nil {
			t.Fatal(path, err)
		}
	}
	answer, err := webOf(t, hostile).Get(hostile.Server + "/node/v1/follow?held=yes")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	defer answer.Body.Close()
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, answer.Body) }()
	if _, err := r.client.RemoveNode(t.Context(), "evil", client.RemoveOptions{}); err == nil ||
		!strings.Contains(err.Error(), "still connected") {
		t.Errorf("without --force: %v", err)
	}
	if _, err := r.client.RemoveNode(t.Context(), "evil", client.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it is still shown the store")
	}
	if err := says(t, hostile, "report", `1`); err == nil || !strings.Contains(err.Error(), "removed from the cluster") {
		t.Errorf("a report after its end: %v", err)
	}
	r.wantPaused(0)
	if _, err := r.client.Resume(t.Context(), ""); err != nil { // which waits for no node that was removed
		t.Error(err)
	}
}
