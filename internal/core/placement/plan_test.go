package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/ports"
)

// changePorts is the next step for a taken port.
const changePorts = "change `ports`, or stop what holds the port"

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func vm(change func(*Node)) Node {
	n := Node{ID: "vm", Alive: true, Ready: true, Runtime: "docker", MemoryBytes: 4 << 30, CPUs: 2}
	if change != nil {
		change(&n)
	}
	return n
}

func named(id string, change func(*Node)) Node {
	n := vm(change)
	n.ID = id
	return n
}

func TestPlan(t *testing.T) {
	http := fixed("8080:80")
	cases := map[string]struct {
		reason  string
		tasks   []Task
		nodes   []Node
		placed  []Assignment
		refused []Refusal
	}{
		"the only node": {
			reason: "a task that asks for nothing runs on what there is",
			tasks:  []Task{{ID: "a"}}, nodes: []Node{vm(nil)},
			placed: []Assignment{{"a", "vm"}},
		},
		"placed already": {
			reason: "a placed task is left where it is, even on a node that no longer answers",
			tasks:  []Task{{ID: "a", Node: "vm"}, {ID: "b", Node: "elsewhere"}},
			nodes:  []Node{vm(func(n *Node) { n.Alive = false })},
		},
		"wanted no more": {
			reason: "a task that was stopped before it had a node never gets one",
			tasks:  []Task{{ID: "a", Leaving: true}}, nodes: []Node{vm(nil)},
		},
		"no nodes": {
			reason: "the first minute of a cluster",
			tasks:  []Task{{ID: "a"}}, refused: []Refusal{{Task: "a", Message: "no node has joined yet",
				Next: "wait a moment: a server joins as a node when it starts; else see its log"}},
		},
		"silent": {
			reason: "a node without heartbeat takes nothing",
			tasks:  []Task{{ID: "a"}}, nodes: []Node{vm(func(n *Node) { n.Alive = false })},
			refused: []Refusal{{Task: "a", Message: "node vm does not answer",
				Next: "start Tend on the node (systemctl start tend); Tend then continues"}},
		},
		"engine away": {
			reason: "the runtime's own words are passed on",
			tasks:  []Task{{ID: "a"}}, nodes: []Node{vm(func(n *Node) { n.Ready, n.Message = false, "docker does not answer" })},
			refused: []Refusal{{Task: "a", Message: "node vm is not ready: docker does not answer", Next: "tend nodes"}},
		},
		"draining": {
			reason: "a draining node empties",
			tasks:  []Task{{ID: "a"}}, nodes: []Node{vm(func(n *Node) { n.Draining = true })},
			refused: []Refusal{{Task: "a", Message: "node vm is drained",
				Next: "add another node (tend nodes add), or end the drain: tend uncordon vm"}},
		},
		"another runtime": {
			reason: "containers are not processes",
			tasks:  []Task{{ID: "a", Demand: &Demand{Need: fit.Need{Containers: "it has networks"}}}},
			nodes:  []Node{vm(func(n *Node) { n.Runtime = "process" })},
			refused: []Refusal{{Task: "a", NoRuntime: true, Message: "no node runs containers, which it needs: it has networks",
				Next: "add a node with Docker (tend nodes add)"}},
		},
		"another architecture": {
			reason: "the image can't run there; a node of an unknown architecture may",
			tasks:  []Task{{ID: "a", Demand: &Demand{Arch: "amd64"}}}, nodes: []Node{vm(func(n *Node) { n.Arch = "arm64" })},
			refused: []Refusal{{Task: "a", Message: "node vm is arm64; the image is amd64",
				Next: "add a node of the image's architecture, or push the image to a registry for all of them"}},
		},
		"several architectures": {
			reason: "counted beside the others, in the order of the filters",
			tasks:  []Task{{ID: "a", Demand: &Demand{Arch: "amd64", MemoryBytes: 1 << 50}}},
			nodes: []Node{
				named("n1", func(n *Node) { n.Arch = "arm64" }), named("n2", func(n *Node) { n.Arch = "amd64" }), named("n3", nil),
			},
			refused: []Refusal{{
				Task: "a", TooLarge: true, Message: "no node has 1024Ti of memory; n1 has 4Gi",
				Next: "lower `resources.limits.memory` to what a node has",
			}},
		},
		"its own architecture": {
			reason: "where it can run",
			tasks:  []Task{{ID: "a", Demand: &Demand{Arch: "amd64"}}, {ID: "b", Demand: &Demand{}}},
			nodes:  []Node{named("n1", func(n *Node) { n.Arch = "arm64" }), named("n2", func(n *Node) { n.Arch = "amd64" })},
			placed: []Assignment{{"a", "n2"}, {"b", "n1"}},
		},
		"too little memory": {
			reason: "what no node has in all can't be had",
			tasks:  []Task{{ID: "a", Demand: &Demand{MemoryBytes: 8 << 30}}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "a", TooLarge: true, Message: "no node has 8Gi of memory; vm has 4Gi",
				Next: "lower `resources.limits.memory` to what a node has"}},
		},
		"all of the memory": {
			reason: "limits are not reservations: each task may ask for the whole node",
			tasks:  []Task{{ID: "a", Demand: &Demand{MemoryBytes: 4 << 30}}, {ID: "b", Demand: &Demand{MemoryBytes: 4 << 30}}},
			nodes:  []Node{vm(nil)},
			placed: []Assignment{{"a", "vm"}, {"b", "vm"}},
		},
		"unknown size": {
			reason: "a node that doesn't know its size is believed to be large",
			tasks:  []Task{{ID: "a", Demand: &Demand{MemoryBytes: 8 << 30, CPUs: 9}}},
			nodes:  []Node{vm(func(n *Node) { n.MemoryBytes, n.CPUs = 0, 0 })},
			placed: []Assignment{{"a", "vm"}},
		},
		"too much to reserve": {
			reason: "what is reserved counts like a limit",
			tasks:  []Task{{ID: "a", Demand: &Demand{ReservedMemory: 8 << 30}}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "a", TooLarge: true, Message: "no node has 8Gi of memory; vm has 4Gi",
				Next: "lower `resources.reservations.memory` to what a node has"}},
		},
		"a node of unknown size": {
			reason: "it may be large enough once it answers",
			tasks:  []Task{{ID: "a", Demand: &Demand{MemoryBytes: 8 << 30}}},
			nodes:  []Node{vm(nil), named("n2", func(n *Node) { n.MemoryBytes, n.Alive = 0, false })},
			refused: []Refusal{{Task: "a", Message: "1 of 2 nodes does not answer; 1 of 2 nodes lacks memory (8Gi asked)",
				Next: "start Tend on the node (systemctl start tend); Tend then continues"}},
		},
		"too few cores": {
			reason: "the same for cores",
			tasks:  []Task{{ID: "a", Demand: &Demand{CPUs: 2.5}}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "a", TooLarge: true, Message: "no node has 2.5 cores; vm has 2",
				Next: "lower `resources.limits.cpu` to what a node has"}},
		},
		"port taken": {
			reason: "a port belongs to one task, the older one",
			tasks: []Task{{ID: "b", CreatedAt: epoch.Add(1), Demand: &Demand{Ports: http}},
				{ID: "a", CreatedAt: epoch.Add(2), Demand: &Demand{Ports: http}}}, nodes: []Node{vm(nil)},
			placed:  []Assignment{{"b", "vm"}},
			refused: []Refusal{{Task: "a", Message: "port 8080 of node vm is held by pod b", Next: changePorts}},
		},
		"port held by one that stops": {
			reason: "a stopping container still holds its port",
			tasks: []Task{{ID: "a", Name: "shop-web.1a2b", Node: "vm", Leaving: true, Demand: &Demand{Ports: http}},
				{ID: "b", Demand: &Demand{Ports: http}}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "b", Message: "port 8080 of node vm is held by shop-web.1a2b", Next: changePorts}},
		},
		"port free again": {
			reason: "a stopped one doesn't",
			tasks: []Task{{ID: "a", Node: "vm", Leaving: true, Stopped: true, Demand: &Demand{Ports: http}},
				{ID: "b", Demand: &Demand{Ports: http}}}, nodes: []Node{vm(nil)},
			placed: []Assignment{{"b", "vm"}},
		},
		"same port, other address": {
			reason: "two addresses don't clash, every address clashes with each",
			tasks: []Task{
				{ID: "a", Node: "vm", Demand: &Demand{Ports: http}},
				{ID: "b", Demand: &Demand{Ports: fixed("10.0.0.1:8080:80")}},
				{ID: "c", Demand: &Demand{Ports: fixed("0.0.0.0:8080:80")}},
				{ID: "d", Demand: &Demand{Ports: fixed("8080:80/udp")}},
			},
			nodes:   []Node{vm(nil)},
			placed:  []Assignment{{"b", "vm"}, {"d", "vm"}},
			refused: []Refusal{{Task: "c", Message: "port 8080 of node vm is held by pod a", Next: changePorts}},
		},
		"stop-first successor": {
			reason: "its predecessor's port will be free when it starts",
			tasks: []Task{{ID: "a", Node: "vm", Leaving: true, Demand: &Demand{Ports: http}},
				{ID: "b", Replaces: "a", After: "a", Demand: &Demand{Ports: http}}}, nodes: []Node{vm(nil)},
			placed: []Assignment{{"b", "vm"}},
		},
		"superseded stop-first successor": {
			reason: "neither the one that stops nor the one that never started is in the way of the third",
			tasks: []Task{
				{ID: "a", Node: "vm", Leaving: true, Demand: &Demand{Ports: http}},
				{ID: "b", Node: "vm", Leaving: true, Replaces: "a", After: "a", Demand: &Demand{Ports: http}},
				{ID: "c", Replaces: "b", After: "a", Demand: &Demand{Ports: http}},
			},
			nodes:  []Node{vm(nil)},
			placed: []Assignment{{"c", "vm"}},
		},
		"start-first successor": {
			reason: "beside its predecessor there is no room: the refusal says that this is all",
			tasks: []Task{{ID: "a", Node: "vm", Demand: &Demand{Ports: http}},
				{ID: "b", Replaces: "a", Demand: &Demand{Ports: http}}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "b", Message: "port 8080 of node vm is held by pod a", Next: changePorts, Crowded: true}},
		},
		"start-first successor that fits nowhere": {
			reason: "stopping the predecessor would not help, and is not asked for",
			tasks: []Task{
				{ID: "a", Node: "vm", Demand: &Demand{Ports: http}},
				{ID: "x", Node: "vm", Demand: &Demand{Ports: fixed("9090:90")}},
				{ID: "b", Replaces: "a", Demand: &Demand{Ports: append(fixed("9090:90"), http...)}},
			},
			nodes:   []Node{vm(nil)},
			refused: []Refusal{{Task: "b", Message: "port 9090 of node vm is held by pod x", Next: changePorts}},
		},
		"several nodes": {
			reason: "of several nodes the filters count",
			tasks:  []Task{{ID: "a", Demand: &Demand{MemoryBytes: 512 << 20}}},
			nodes: []Node{
				named("n1", func(n *Node) { n.MemoryBytes = 1 << 20 }), named("n2", func(n *Node) { n.MemoryBytes = 2 << 20 }),
				named("n3", func(n *Node) { n.Alive = false }),
			},
			refused: []Refusal{{Task: "a", Message: "1 of 3 nodes does not answer; 2 of 3 nodes lack memory (512Mi asked)",
				Next: "lower `resources.limits.memory` to what a node has"}},
		},
		"spread before load": {
			reason: "slots of one workload are spread, even onto a node that has more of others",
			tasks: []Task{
				{ID: "w1", Workload: "web", Node: "n1"}, {ID: "x1", Workload: "x", Node: "n2"},
				{ID: "x2", Workload: "x", Node: "n2"},
				{ID: "w2", Workload: "web"},
			},
			nodes:  []Node{named("n1", nil), named("n2", nil)},
			placed: []Assignment{{"w2", "n2"}},
		},
		"load by cores": {
			reason: "between equals the one with more free cores",
			tasks: []Task{{ID: "x1", Workload: "x", Node: "n1"}, {ID: "x2", Workload: "x", Node: "n2"},
				{ID: "w", Workload: "web"}},
			nodes:  []Node{named("n1", nil), named("n2", func(n *Node) { n.CPUs = 8 })},
			placed: []Assignment{{"w", "n2"}},
		},
		"leaving ones don't count": {
			reason: "a node whose task of the workload is about to go is as good as empty",
			tasks: []Task{
				{ID: "w1", Workload: "web", Node: "n1", Leaving: true}, {ID: "w2", Workload: "web", Node: "n2"},
				{ID: "w3", Workload: "web"},
			},
			nodes:  []Node{named("n1", nil), named("n2", nil)},
			placed: []Assignment{{"w3", "n1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			placed, refused := planOf(tc.tasks, tc.nodes, nil)
			if diff := cmp.Diff(tc.placed, placed) + cmp.Diff(tc.refused, refused); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// fixed returns the ports of one entry.
func fixed(entry string) []ports.Port { return ports.Fixed(api.DeploymentSpec{Ports: []string{entry}}) }

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{512 << 20: "512Mi", 3 << 29: "1536Mi", 3 << 30: "3Gi", 100_000: "97.7Ki",
		1000: "1000 bytes"} {
		if got := size(bytes); got != want {
			t.Errorf("%d bytes read %s, want %s", bytes, got, want)
		}
	}
}
