package daemon

import (
	"context"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/store/records"
)

// TestAServerNamesItselfInHeartbeats: the heartbeats of the nodes that a server hears name it and its life, like its
// own presence record. So each counts as heard only until this life ends. A server that is alone leaves the name empty.
func TestAServerNamesItselfInHeartbeats(t *testing.T) {
	for name, shared := range map[string]bool{"a": true, "": false} {
		t.Run("as "+name, func(t *testing.T) {
			m := newMachine(t)
			var started *daemon
			start := func() *running {
				return m.startWith(func(o *Options) {
					o.Name, o.Shared, o.opened = "a", shared, func(d *daemon) { started = d }
				}).ready()
			}
			hearing := func(beat records.Heartbeat) liveness.Hearing {
				life := lifeOf(m, name)
				if !shared {
					life = started.aloneSince()
				}
				h, _ := liveness.HearingOf(liveness.Beat(beat), life)
				return h
			}
			r := start()
			r.until("the node to send a heartbeat", func() bool {
				_, err := m.store.Get(t.Context(), records.AliveKey("n1"))
				return err == nil
			})
			first := heartbeatOf(m)
			if first.Server != name || first.Last != (time.Time{}) {
				t.Errorf("%+v, want server %q", first, name)
			}
			r.until("the server to hear its node", func() bool { return hearing(heartbeatOf(m)) == liveness.Heard })
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			left := heartbeatOf(m)
			if shared && hearing(left) != liveness.Unheard {
				t.Error("a server that has ended passes for one that hears its node")
			}
			r = start()
			r.until("the next life to announce itself", func() bool { return !shared || !lifeOf(m, name).IsZero() })
			if hearing(left) != liveness.Awaited {
				t.Error("a heartbeat of an earlier life passes for one that the server hears")
			}
			r.until("the next life to hear the node", func() bool { return hearing(heartbeatOf(m)) == liveness.Heard })
		})
	}
}

func heartbeatOf(m *machine) records.Heartbeat {
	read, err := m.store.Get(context.Background(), records.AliveKey("n1"))
	if err != nil {
		m.t.Error(err)
	}
	return records.HeartbeatOf(read.Value)
}

// lifeOf returns the start time of a running server; zero if none of that name runs.
func lifeOf(m *machine, name string) time.Time {
	read, err := m.store.Get(context.Background(), records.ServerKey(name))
	if err != nil {
		return time.Time{}
	}
	value, err := records.Decode(read.Key, read.Value)
	if presence, ok := value.(*api.ServerPresence); ok && err == nil {
		return presence.Since
	}
	return time.Time{}
}
