package cli

import (
	"encoding/json"
	"net/netip"
	"time"

	"tend.dev/tend/api"
)

func longObjects() []api.Object {
	status, _ := json.Marshal(api.WorkloadStatus{
		Replicas: 3, Ready: 2, Updated: 1, Release: "v128",
		Conditions: []api.Condition{{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "RegistryUnreachable"}},
	})
	meta := api.Metadata{CreatedAt: written, Generation: 7}
	return []api.Object{
		{Kind: api.KindDeployment, Scope: "prod", Name: "web", Metadata: meta, Status: status},
		{Kind: api.KindDeployment, Scope: "production-eu", Name: "checkout-session-worker", Metadata: meta, Status: status},
	}
}

func longIngresses() []api.Object {
	status, _ := json.Marshal(api.IngressStatus{URL: "https://checkout.production-eu.example.com:8443",
		Service: "checkout-session-worker", ReadyPods: 2, Pods: 3,
		Conditions: []api.Condition{{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "CertificateFailed"}}})
	meta := api.Metadata{CreatedAt: written, Generation: 7}
	return []api.Object{
		{Kind: api.KindIngress, Scope: "prod", Name: "web", Metadata: meta, Status: status},
		{Kind: api.KindIngress, Scope: "production-eu", Name: "checkout-session-worker", Metadata: meta, Status: status},
	}
}

func longCronJobs() []api.Object {
	spec, _ := json.Marshal(api.CronJobSpec{Schedule: "*/15 6-22 * * mon-fri", Timezone: "America/Argentina/Buenos_Aires"})
	status, _ := json.Marshal(api.JobStatus{LastRun: "s-20260301-1145", LastState: api.RunFailed, Active: 1,
		NextRun: written.Add(10 * time.Minute), Missed: 12,
		Conditions: []api.Condition{{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "RunFailed"}}})
	return []api.Object{{Kind: api.KindCronJob, Scope: "production-eu", Name: "nightly-report-generator",
		Spec: spec, Status: status,
		Metadata: api.Metadata{CreatedAt: written, Generation: 7}}}
}

func longReleases() []api.ReleaseInfo {
	code := 1
	return []api.ReleaseInfo{
		{ID: "v128", Image: "registry.example.com:5000/payments/checkout-session-worker:2026.03.01-rc.2",
			Current: true, Pods: 1,
			Failed: "CrashLoop", Changed: []string{"image", "env.DATABASE_URL", "resources.limits.memory", "probes"},
			CreatedAt: written,
			Change:    &api.Change{Verb: "apply", Actor: "continuous-delivery (pid 4711)"},
			Runs:      []api.Run{{ID: "v128-command", State: api.RunFailed, ExitCode: &code}}},
		{ID: "v127", Image: "registry.example.com:5000/payments/checkout-session-worker:2026.02.27", Good: true, Pods: 4,
			Reason:    "rollback to v125",
			CreatedAt: written.Add(-48 * time.Hour)},
	}
}

func longVersions() []api.ReleaseInfo {
	const kind, hash = api.KindApplicationInstance, "4f2a9c0d1e7b55aa"
	return []api.ReleaseInfo{
		{ID: "v14", Kind: kind, Chart: "nextcloud-with-collabora 31.0.2+build.20260301", Current: true, SpecHash: hash,
			Failed: "HelmReleaseFailed", HelmRevision: 117, HelmChart: "31.0.2+4f2a9c0d1e7b",
			Changed:   []string{"chart.version", "values.inline.ingress.hosts[0]", "valuesFrom[1].name", "timeout"},
			CreatedAt: written, Change: &api.Change{Verb: "apply", Actor: "continuous-delivery (pid 4711)"}},
		{ID: "v13", Kind: kind, Chart: "nextcloud 31.0.1", SpecHash: hash, Replaced: true, Changed: []string{"chart.version"},
			CreatedAt: written.Add(-time.Hour)},
		{ID: "v12", Kind: kind, Chart: "nextcloud 31.0.0", SpecHash: hash, Good: true, Reason: "rollback to v10", HelmRevision: 9,
			CreatedAt: written.Add(-48 * time.Hour), Change: &api.Change{Verb: "rollback", Actor: "ann"}},
	}
}

func longServers() []api.Server {
	lag := int64(12345)
	return []api.Server{
		{Name: "tend-1", State: api.ServerUp, Leads: true, Vote: "voter", Address: "10.0.0.1:8691", Since: written},
		{Name: "server-eu-central-1b.internal", State: api.ServerUp, Vote: "learner", Lag: &lag,
			Address: "server-eu-central-1b.internal:8691", Since: written},
	}
}

func longPods() []api.Pod {
	short := podAt("1a2b3c4d", written, api.TaskRunning)
	short.Node, short.Incarnations = "n1", 1
	short.Ports = []api.PortBinding{{Container: 8080, HostIP: "127.0.0.1", HostPort: 18080}}
	code := 137
	long := podAt("1a2b3c4d", written, api.TaskRejected)
	long.Name, long.Node, long.Incarnations = "production-eu-checkout-worker.5e6f7a8b", "worker-eu-central-1b", 12
	long.Reason, long.ExitCode = "CommandNotExecutable", &code
	longer := long
	longer.Name = "production-eu-checkout-session-worker.5e6f7a8b"
	return []api.Pod{short, long, longer}
}

func longEvents() []api.Event {
	raw := func(d api.EventData) []byte { data, _ := json.Marshal(d); return data }
	about := api.EventData{Kind: api.KindDeployment, Scope: "production-eu", Name: "checkout-session-worker"}
	updated, status, failed := about, about, about
	updated.Verb, updated.Manager = "apply", "continuous-delivery"
	updated.Changes = []api.EventChange{
		{Path: "spec.image", Old: json.RawMessage(`"registry.example/web:1.2.3"`),
			New: json.RawMessage(`"registry.example/web:1.2.4"`)},
	}
	status.OldRelease, status.Release, status.OldPhase, status.Phase = "v127", "v128", "complete", "progressing"
	status.Conditions = []api.EventCondition{
		{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: "CrashLoop"},
		{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "CrashLoop"},
	}
	failed.Release, failed.Reason = "v128", "CrashLoop"
	failed.Message = "ended 3 times by itself within 47s; last, the container ended with exit code 3"
	at := func(action api.EventAction, after time.Duration, d api.EventData) api.Event {
		return api.Event{Type: api.EventType(d.Kind, action), Subject: d.Scope + "/" + d.Name,
			Time: written.Add(after), Data: raw(d)}
	}
	other := updated
	other.Kind, other.Changes = api.KindIngress, nil
	return []api.Event{
		at(api.EventUpdated, 0, updated), at(api.EventStatusUpdated, time.Second, status),
		at(api.EventFailed, 47*time.Second, failed),
		at(api.EventUpdated, 48*time.Second, other),
	}
}

func longNodes() []api.NodeInfo {
	nodes := []api.NodeInfo{{Alive: true, Pods: 3}, {Alive: true, Pods: 117}}
	nodes[0].ID, nodes[0].Ready, nodes[0].Runtime, nodes[0].RuntimeVersion = "n1", true, "docker", "29.1.0"
	nodes[0].CPUs, nodes[0].MemoryBytes = 4, 8<<30
	nodes[0].Role, nodes[0].Address = api.NodeOfServer, netip.MustParseAddr("10.0.0.1")
	nodes[1].Role, nodes[1].Address = api.NodeIngress, netip.MustParseAddr("192.168.177.201")
	nodes[1].ID, nodes[1].Reason, nodes[1].Runtime = "worker-eu-central-1b.internal", "EngineUnavailable", "docker"
	nodes[1].RuntimeVersion, nodes[1].CPUs, nodes[1].MemoryBytes = "29.1.0-ce-rc.2+build.7", 128, 512<<30
	return nodes
}
