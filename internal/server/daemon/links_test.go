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
	ended := make(chan struct{})
	for range 2 * boundary.Connections {
		opened := keepsSession(t, hostile)
		go func() {
			select {
			case <-opened:
				select {
				case ended <- struct{}{}:
				case <-t.Context().Done():
				}
			case <-t.Context().Done():
			}
		}()
	}
	for i := range boundary.Connections {
		select {
		case <-ended:
		case <-time.After(20 * time.Second): // less than the time after which the server gives up a silent one
			t.Fatalf("only %d of %d connections have ended", i, 2*boundary.Connections)
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
