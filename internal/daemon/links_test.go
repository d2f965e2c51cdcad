package daemon

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/boundary"
)

// TestAMachineHasFewConnections: the oldest makes way for the next, and those of other machines stay.
func TestAMachineHasFewConnections(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 2})
	if err != nil {
		t.Fatal(err)
	}
	honest, err := joins(t, token, "honest")
	if err != nil {
		t.Fatal(err)
	}
	hostile, err := joins(t, token, "hostile")
	if err != nil {
		t.Fatal(err)
	}
	kept := keepsSession(t, honest)
	var opened []<-chan struct{}
	for range 2 * boundary.Connections {
		opened = append(opened, keepsSession(t, hostile))
	}
	for i, end := range opened[:boundary.Connections] {
		select {
		case <-end:
		case <-time.After(time.Minute):
			t.Fatalf("connection %d of %d is still open", i, len(opened))
		}
	}
	if err := asks(t, hostile); err != nil {
		t.Errorf("its next request: %v", err)
	}
	select {
	case <-kept:
		t.Error("another machine's connection was closed for them")
	default:
	}
}
