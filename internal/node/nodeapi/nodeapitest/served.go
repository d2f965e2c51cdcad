package nodeapitest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// served: a proxy learns what it needs to reach pods on all nodes, and nothing of what they run with.
func served(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	w.Object(api.KindDeployment, "web",
		map[string]any{"image": "web:1", "ports": []string{"8080"}, "env": map[string]string{"A": "s3cret"}})
	w.Object(api.KindIngress, "web",
		api.IngressSpec{Host: "Web.Example", TLS: &api.IngressTLS{Certificate: "CRT", Key: "KEY"}})
	certificate, _ := sealer{}.Encrypt([]byte("cert"))
	key, _ := sealer{}.Encrypt([]byte("key"))
	prefix := records.ConfigAppPrefix("prod", "web")
	w.Commit(records.NewTxn("test").Put(prefix+"CRT", certificate).Put(prefix+"KEY", key))
	task := api.Task{ID: "p", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "p", Release: "v1", Node: There,
		Desired: api.DesiredRunning}
	w.Commit(records.NewTxn("test").CreateTask(task))
	status := api.TaskStatus{ID: "p", Node: There, State: api.TaskRunning, Ready: true, Address: "10.0.0.9"}
	w.Commit(records.NewTxn("test").Put(records.TaskStatusKey("p"), status))
	changes.want(node.Change{Served: true})
	eventually(t, changes, func() (any, bool) {
		got := c.Served()
		pods := got.Services["prod/web"].Pods
		return got, len(got.Ingresses) == 1 && len(got.Certificates) == 1 && string(got.Certificates[0].Key) == "key" &&
			got.Certificates[0].Host == "web.example" && len(pods) == 1 && pods[0].Ready && pods[0].Address == "" &&
			pods[0].Node == There
	})
	if text, err := json.Marshal(c.Served()); err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("what is served holds an environment: %s %v", text, err)
	}
	silence(t, w, c, changes)
	status.Ready = false
	w.Commit(records.NewTxn("test").Put(records.TaskStatusKey("p"), status))
	eventually(t, changes, func() (any, bool) {
		got := c.Served().Services["prod/web"].Pods
		return got, len(got) == 1 && !got[0].Ready
	})
	w.Commit(records.NewTxn("test").Delete(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "web"})))
	eventually(t, changes, func() (any, bool) {
		got := c.Served()
		return got, len(got.Ingresses) == 0 && len(got.Certificates) == 0
	})
}

// silence: a pod of another node that is silent gets no requests while another pod is ready.
func silence(t *testing.T, w *World, c nodeapi.Control, changes *listener) {
	own := api.Task{ID: "q", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "q", Release: "v1", Node: Here,
		Desired: api.DesiredRunning}
	w.Commit(records.NewTxn("test").CreateTask(own))
	ready := func(reason, want string) {
		t.Helper()
		eventually(t, changes, func() (any, bool) {
			got := ""
			for _, pod := range c.Served().Services["prod/web"].Pods {
				if pod.Ready {
					got += pod.Task
				}
			}
			return reason + ": " + got, got == want
		})
	}
	ready("the other node is silent, and has the only pod that is ready", "p")
	status := api.TaskStatus{ID: "q", Node: Here, State: api.TaskRunning, Ready: true, Address: "10.0.0.8"}
	w.Commit(records.NewTxn("test").Put(records.TaskStatusKey("q"), status))
	ready("a pod here is ready too", "q")
	w.Commit(records.NewTxn("test").Put(records.AliveKey(There), There))
	ready("the other node answers", "pq")
	w.Commit(records.NewTxn("test").Delete(records.AliveKey(There)))
	ready("it is silent again", "q")
	w.Commit(records.NewTxn("test").Delete(records.TaskKey("q")).Delete(records.TaskStatusKey("q")))
	ready("its pod is the only one again", "p")
}

func reportsOfIngress(t *testing.T, w *World, c nodeapi.Control) {
	status := api.IngressNodeStatus{Node: Here, HTTP: api.ListenerStatus{Open: true, Address: ":80"}}
	if err := c.ReportIngress(t.Context(), status); err != nil {
		t.Fatal(err)
	}
	if got := w.snapshot().IngressNodes(); len(got) != 1 || got[0].Value.Node != Here || !got[0].Value.HTTP.Open {
		t.Errorf("%+v", got)
	}
	status.Node = There
	if err := c.ReportIngress(t.Context(), status); !errors.Is(err, node.ErrForbidden) {
		t.Errorf("another node's: %v", err)
	}
}
