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
}

func (f forgetful) Task(id string) (node.Assignment, bool) {
	f.asked(id)
	return node.Assignment{}, false
}

func TestQuarantine(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		leaves string // the container that goes while its task is asked for
		want   []string
	}{
		"unknown": {"a container of no task is shown", "", []string{"shop-web.1", "shop-web.2"}},
		"leaving": {"one that goes at this moment was just removed, and its task forgotten", "t1", []string{"shop-web.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Agent{containers: newContainers(nil, time.Now)}
			for _, n := range []string{"1", "2"} {
				a.containers.put(runtime.Container{ID: "c" + n, Name: "shop-web." + n,
					Labels: map[string]string{api.LabelTask: "t" + n}})
			}
			a.control = forgetful{asked: func(task string) {
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
