package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// forgetful is a control plane that knows no task. When asked for one, it calls a function of the test.
type forgetful struct {
	nodeapi.Control
	asked func(task string)
	read  chan struct{}
}

func (f forgetful) Synced() <-chan struct{} { return f.read }

func (f forgetful) Task(id string) (node.Assignment, bool) {
	f.asked(id)
	return node.Assignment{}, false
}

func TestQuarantine(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		leaves string // the container that goes while its task is asked for
		unread bool
		former []string
		want   []string
	}{
		"unknown": {reason: "a container of no task is shown", want: []string{"shop-web.1", "shop-web.2"}},
		"leaving": {reason: "one that goes at this moment was just removed, and its task forgotten", leaves: "t1",
			want: []string{"shop-web.2"}},
		"unread": {reason: "before the store was read, every task seems unknown", unread: true},
		"former": {reason: "what ran here before the machine joined again is stopped", former: []string{"old"},
			want: []string{"shop-web.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Agent{containers: newContainers(nil, time.Now), opts: Options{Former: tt.former}}
			a.former = newFormer(a)
			read := make(chan struct{})
			if !tt.unread {
				close(read)
			}
			for _, n := range []string{"1", "2"} {
				a.containers.put(runtime.Container{ID: "c" + n, Name: "shop-web." + n,
					Labels: map[string]string{api.LabelTask: "t" + n, api.LabelNode: map[string]string{"1": "old"}[n]}})
			}
			a.control = forgetful{read: read, asked: func(task string) {
				if task == tt.leaves {
					a.containers.remove("c1")
				}
			}}
			if diff := cmp.Diff(tt.want, a.quarantined()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
