package agent_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// TestNoPodGetsAPortOfTends: a port at which Tend listens on the node, or is about to for an ingress, is published for
// no pod, though nothing holds it at the moment. The pod says who listens there; the next one starts once nobody does.
func TestNoPodGetsAPortOfTends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := newHarness(t), newGate()
		l.edge, g.plain, g.secure = g, ":80", "192.0.2.1:443"
		l.listeners = slices.Concat(ports.ListenerAt("[::]:8690", "for other nodes", "--relay-listen"),
			ports.ListenerAt("127.0.0.1:8686", "for the server", "--http"))
		l.start()
		defer l.close()
		publishes := func(entry string) func(*api.Task, *api.DeploymentSpec) {
			return func(_ *api.Task, spec *api.DeploymentSpec) { spec.Ports = []string{entry} }
		}
		n := 0
		refused := func(entry, says string) {
			t.Helper()
			n++
			task := l.deploy(taskID(n), publishes(entry))
			l.settle()
			l.want(task, api.TaskRejected, false, "PortTaken")
			l.wantContainer(task, "")
			if got := l.status(task); !strings.Contains(got.Message, says) || !strings.Contains(got.Next, "Tend retries") {
				t.Errorf("%s: %q, next %q; want %s", entry, got.Message, got.Next, says)
			}
		}
		runs := func(entry string) api.Task {
			t.Helper()
			n++
			task := l.deploy(taskID(n), publishes(entry))
			l.settle()
			l.wantContainer(task, runtime.StateRunning)
			return task
		}
		refused("127.0.0.1:8690:80", "Tend itself listens at port 8690 of this node, for other nodes")
		refused("0.0.0.0:8686:80", "port 8686 of this node, for the server")
		runs("192.0.2.1:8686:80") // the server listens at another address
		early := runs("127.0.0.1:80:80")
		runs("127.0.0.1:443:80")
		l.route(api.DeploymentSpec{Container: api.Container{Image: image}})
		object := api.Object{Kind: api.KindIngress, Scope: "shop", Name: "db", Spec: []byte(`{"listen":"7000","service":"web"}`)}
		l.commit(records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object))
		l.settle()
		refused("127.0.0.2:80:80", "port 80 of this node, for ingresses")
		refused("192.0.2.1:443:80", "port 443 of this node, for ingresses")
		refused("127.0.0.1:7000:80", "port 7000 of this node, for ingress/shop/db")

		l.wantContainer(early, runtime.StateRunning) // what runs goes on
		l.must(l.engine.StopByHand(early.ContainerName()))
		l.pass(11 * time.Second)
		l.wantContainer(early, runtime.StateExited)
		l.want(early, api.TaskRejected, false, "PortTaken")

		l.stop()
		l.listeners = nil // it listens elsewhere
		l.start()
		runs("127.0.0.1:8690:80")
	})
}
