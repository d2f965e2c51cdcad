package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestEndpoint: other nodes are led to the container that runs a task now, at a port that an ingress leads to, as long
// as it gets requests; to nothing else.
func TestEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g, task := served(t, "30s")
		defer l.close()
		leads := func(reason, id string, port int, want string) {
			t.Helper()
			got, err := l.agent.Endpoint(id, port, "tcp")
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", reason, got, want)
			}
		}
		address := l.container(task).Address
		leads("its port", task.ID, 80, address+":80")
		leads("another port", task.ID, 22, "no ingress leads to port 22/tcp of deployment/shop/web")
		if _, err := l.agent.Endpoint(task.ID, 80, "udp"); err == nil ||
			!strings.Contains(err.Error(), "no ingress leads to port 80/udp") {
			t.Errorf("another protocol: %v", err)
		}
		leads("no task of the node", "nobody's", 80, "no such pod")
		every := func(want bool) {
			t.Helper()
			if l.agent.AtEvery(task.ID, 80, "tcp") != want || l.agent.AtEvery(task.ID, 80, "udp") ||
				l.agent.AtEvery(task.ID, 22, "tcp") || l.agent.AtEvery("nobody's", 80, "tcp") {
				t.Errorf("each node may ask for another port than 80/tcp, or, want %t, for that", want)
			}
		}
		every(false) // an ingress with a host leads there alone
		port := api.Object{Kind: api.KindIngress, Scope: "shop", Name: "port",
			Spec: []byte(`{"listen":"7000","service":"web","port":80}`)}
		l.commit(records.NewTxn("test").Put(records.ObjectKey(port.Ref()), port))
		l.settle()
		every(true)
		l.commit(records.NewTxn("test").Delete(records.ObjectKey(port.Ref())))
		l.settle()
		every(false)
		private := l.deploy(taskID(2), func(task *api.Task, _ *api.DeploymentSpec) { task.Name = "db" })
		l.settle()
		leads("a workload that no ingress names", private.ID, 80, "no ingress leads to port 80/tcp of deployment/shop/db")

		l.store.failing(errors.New("the store is away"))
		l.must(l.engine.Exit(task.ContainerName(), 1))
		synctest.Wait()
		leads("its container has ended, and the servers don't know yet", task.ID, 80, "gets no requests now")
		l.store.failing(nil)
		l.pass(time.Minute)
		leads("it runs again", task.ID, 80, ":80")

		l.commit(records.NewTxn("test").Delete(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: "shop", Name: "web"})))
		l.settle()
		leads("the ingress is gone", task.ID, 80, "no ingress leads to port 80/tcp")
		l.route(api.DeploymentSpec{Container: api.Container{Image: image}})
		l.settle()
		leads("it is back", task.ID, 80, ":80")

		l.raise(task, api.DesiredShutdown)
		leads("the pod is to stop, and finishes what it was sent", task.ID, 80, "gets no requests now")
		close(g.finish)
		l.pass(time.Minute)
		leads("it has stopped", task.ID, 80, "")
	})
}
