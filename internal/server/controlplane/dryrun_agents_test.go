package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store/records"
)

// agent lets the scheduler, the node's agent and the operator of a cluster carry out their work, or fail.
func (w *dryWorld) agent(rt *rapid.T) {
	fails := rapid.IntRange(0, 4).Draw(rt, "fails") == 0
	w.work(rt, fails, func() bool { return rapid.IntRange(0, 3).Draw(rt, "ends") == 0 })
	w.operator(rt, func() int { return rapid.IntRange(0, 3).Draw(rt, "found") })
}

// serve lets them succeed. The operator finds no further drift.
func (w *dryWorld) serve(rt *rapid.T) {
	w.engine(rt, true)
	w.work(rt, false, func() bool { return true })
	w.operator(rt, nil)
}

// engine reports of the node whether its engine answers, and something that no decision reads.
func (w *dryWorld) engine(rt *rapid.T, answers bool) {
	node := *w.snapshot().Node("n1").Value
	node.Ready, node.Quarantined = answers, append(node.Quarantined, "container")
	w.put(rt, records.NodeKey("n1"), node)
}

func (w *dryWorld) work(rt *rapid.T, fails bool, ends func() bool) {
	nodes := w.controllers[scheduled]
	for _, key := range nodes.Keys() {
		result, err := nodes.Reconcile(context.Background(), key)
		w.await(rt)(result.Revision, err)
	}
	s := w.snapshot()
	w.write(rt, func(txn *records.Txn) {
		txn.Put(records.LeasesPrefix+"test", []byte("so that there is something to commit"))
		for _, request := range s.ImageRequests() {
			image := api.ImageStatus{
				Owner: request.Value.Owner, OwnerUID: request.Value.OwnerUID, Node: "n1",
				Image: request.Value.Image, Nonce: request.Value.Nonce,
				State: api.ImagePresent, ImageID: "sha256:" + request.Value.Image, UpdatedAt: w.now,
			}
			if fails {
				image.State, image.ImageID, image.Reason = api.ImageFailed, "", api.ReasonImageNotFound
			}
			txn.Put(records.ImageStatusKey("n1", image.Owner), image)
		}
		for _, task := range s.Tasks() {
			w.runs(txn, *task.Value, s.TaskStatus(task.Value.ID).Value, ends(), fails)
		}
	})
}

// runs writes an agent's report of a task.
func (w *dryWorld) runs(txn *records.Txn, task api.Task, was *api.TaskStatus, ends, fails bool) {
	status := api.TaskStatus{
		ID: task.ID, Node: task.Node, State: api.TaskRunning, Ready: true, Steady: true,
		StartedAt: w.now, RunningAt: w.now, ReadyAt: w.now,
	}
	if was != nil {
		status = *was
	}
	switch {
	case task.Node == "":
		return
	case task.Desired == api.DesiredRemoved:
		txn.Delete(records.TaskStatusKey(task.ID))
		return
	case status.State.Terminal():
	case task.Desired == api.DesiredShutdown:
		status.State, status.FinishedAt = api.TaskShutdown, w.now
	case ends && task.Class == api.ClassOnce && fails:
		status.State, status.FinishedAt, status.Reason, status.Message = api.TaskFailed, w.now, "Exited", "exit code 1"
	case ends && task.Class == api.ClassOnce:
		status.State, status.FinishedAt = api.TaskComplete, w.now
	}
	txn.Put(records.TaskStatusKey(task.ID), status)
}

// operator registers, and answers the jobs of its cluster. found may make it report drifted resources; without found it
// skips jobs that it has answered, and succeeds with the rest.
func (w *dryWorld) operator(rt *rapid.T, found func() int) {
	object := w.object(api.KindCluster)
	if !w.snapshot().Object(object.Ref()).Exists() {
		return
	}
	access := api.ClusterAccess{UID: object.Metadata.UID, Token: &api.ClusterToken{}, RegisteredAt: w.now}
	w.put(rt, records.ClusterAccessKey(object.Name), access)
	for _, job := range w.snapshot().ClusterJobs(object.Name) {
		was := w.snapshot().ClusterReport(job.Value.Object)
		finds := found
		if finds == nil {
			if was.Exists() && was.Value.Job == job.Value.ID {
				continue
			}
			finds = func() int { return 3 }
		}
		report := api.ClusterReport{
			UID: job.Value.UID, Job: job.Value.ID, AckedAt: w.now, RenewedAt: w.now, AppliedJob: job.Value.ID,
			AppliedAt: w.now,
			Result:    &api.ClusterResult{Outcome: "succeeded", At: w.now},
		}
		resource := clusterjob.ResourceOf(job.Value.Object)
		resource.UID = "k1"
		report.Applied = &resource
		switch finds() {
		case 0:
			report.Live = &api.ClusterLive{Key: job.Value.Key, Missing: true, At: w.now}
		case 1:
			changed := []api.ClusterDifference{{Field: "spec.chart.version", Declared: `"1"`, Live: `"2"`}}
			report.Live = &api.ClusterLive{Key: job.Value.Key, UID: "k1", Differences: changed, At: w.now}
		case 2:
			report.Result.Outcome, report.Result.Error = "failed", "no such chart"
		}
		w.put(rt, records.ClusterReportKey(job.Value.Object), report)
	}
}

// ask requests what people may: a run of a job, or more time for a lab.
func (w *dryWorld) ask(rt *rapid.T) {
	for _, kind := range []api.Kind{api.KindJob, api.KindCronJob} {
		ref := w.object(kind).Ref()
		if run := fmt.Sprintf("asked-%d", w.now.Unix()); w.snapshot().Object(ref).Exists() {
			w.put(rt, records.RunKey(ref, run), api.Run{
				ID: run, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
				Trigger: api.TriggerManual, CreatedAt: w.now, State: api.RunPending,
			})
		}
	}
	if lab := w.object(api.KindLab); w.snapshot().Object(lab.Ref()).Exists() {
		more := time.Duration(w.snapshot().Revision()%50) * time.Minute
		w.put(rt, records.LabKey(lab.Ref()), api.LabOrders{OwnerUID: lab.Metadata.UID, Extended: more})
	}
}

func statusOf(key string) api.Ref {
	ref, _, _ := records.ParseRef(strings.TrimPrefix(key, records.StatusPrefix))
	return ref
}
