package nodeapitest

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// labs: the host of a lab is served while the lab runs, by every node, and neither before nor afterwards.
func labs(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	spec := api.LabSpec{Owner: "ada@example.org", Duration: "1h", Host: "lab.example.org", Ports: []string{"8080"}}
	spec.Image = "lab:1"
	w.Object(api.KindLab, "linux", spec)
	ref := api.Ref{Kind: api.KindLab, Scope: "prod", Name: "linux"}
	served := func(reason string, phase api.LabPhase, want int) {
		t.Helper()
		changes.settle(w)
		changes.forget()
		w.Commit(records.NewTxn("test").Put(records.StatusKey(ref), api.LabStatus{Phase: phase}))
		changes.settle(w)
		if moves := phase == api.LabRunning || phase == api.LabTimeout; changes.has(node.Change{Served: true}) != moves {
			t.Errorf("%s: proxies are notified: %v", reason, !moves)
		}
		eventually(t, changes, func() (any, bool) {
			got := c.Served()
			pods := got.Services["prod/linux"].Pods
			return reason, len(got.Ingresses) == want &&
				(want == 0 || got.Ingresses[0].Ref == ref && got.Ingresses[0].Spec.Port == 8080 &&
					len(pods) == 1 && pods[0].Ready && pods[0].Task == "l")
		})
	}
	served("it waits for its start", api.LabPending, 0)
	task := api.Task{ID: "l", Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Slot: "l", Release: "v1",
		Class: api.ClassOnce, Node: There, Desired: api.DesiredRunning}
	w.Commit(records.NewTxn("test").CreateTask(task))
	status := api.TaskStatus{ID: "l", Node: There, State: api.TaskRunning, Ready: true, Address: "10.0.0.9"}
	w.Commit(records.NewTxn("test").Put(records.TaskStatusKey("l"), status))
	served("its container is there, and it doesn't run yet", api.LabProvisioning, 0)
	served("it runs", api.LabRunning, 1)
	for _, host := range []string{"", "lab.example.org"} {
		changes.settle(w)
		changes.forget()
		spec.Host = host
		w.Object(api.KindLab, "linux", spec)
		changes.settle(w)
		if !changes.has(node.Change{Served: true}) {
			t.Errorf("proxies are not notified that the lab's host is %q now", host)
		}
		eventually(t, changes, func() (any,
			bool) {
			return "the host is " + host, (len(c.Served().Ingresses) == 1) == (host != "")
		})
	}
	served("its time is over", api.LabTimeout, 0)
}
