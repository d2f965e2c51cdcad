package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/member"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// replicasEach is the number of pods of each deployment of a fleet.
const replicasEach = 100

// objectsEach is the number of deployments in one file.
const objectsEach = 10

// fleet is a server with nodes that have no containers.
type fleet struct {
	b      *testing.B
	client *client.Client
	// count sums up the statuses of all deployments.
	count func(of func(api.WorkloadStatus) int) int
	// cpu, peakMiB and proposals are about the server's process, which may be this one: its processor time, the most
	// memory it ever had resident, and how many entries its store's log got. proposals is nil for a process of its own.
	cpu       func() time.Duration
	peakMiB   func() float64
	proposals func() float64
}

var quiet = slog.New(slog.DiscardHandler)

// startFleet starts a server over embedded etcd, and agents that call it in the same process.
func startFleet(b *testing.B, nodes int) fleet {
	b.Helper()
	root := shortRoot(b)
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	b.Cleanup(func() { cancel(); parts.Wait() })
	o, err := Options{
		Options: host.Options{Root: root, Node: "n1", Runtime: "hollow", Logger: quiet}, HTTP: "off",
		QuietEtcd: true, NoAgent: true,
	}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	failed, fail := context.WithCancelCause(ctx)
	d := &daemon{Options: o, fatal: fail}
	starts := []func(context.Context) error{d.prepareRoot, d.openStore, d.claim, d.openFiles, d.build, d.listen}
	for _, start := range starts {
		if err := start(ctx); err != nil {
			b.Fatal(err)
		}
	}
	served := make(chan struct{})
	parts.Go(func() {
		defer d.close()
		defer close(served)
		if err := d.serve(failed, time.Now()); err != nil && ctx.Err() == nil {
			b.Error(err)
		}
	})
	f := connected(b, root)
	f.cpu = func() time.Duration { return cpuTime(b) }
	f.peakMiB = func() float64 { return peakMiB(b, os.Getpid()) }
	f.proposals = func() float64 { return committedProposals(b) }
	f.count = func(of func(api.WorkloadStatus) int) (sum int) { // without the API, whose answers would be most of the cost
		for record := range d.view.Snapshot().Prefix("/status/deployment/") {
			sum += of(*record.Value.(*api.WorkloadStatus))
		}
		return sum
	}
	pprof.Do(ctx, pprof.Labels("side", "agent"), func(context.Context) {
		for i := range nodes {
			engine, id := hollowEngine(b), fmt.Sprintf("worker-%d", i)
			a := agent.New(agent.Options{Node: id, Control: d.nodes.Node(id), Runtime: engine.Client(d.cluster.UID, id),
				Workers: 2, Stops: 2, Pulls: 1, Builds: 1, Logger: quiet})
			parts.Go(func() { _ = a.Run(ctx) })
		}
	})
	f.awaitNodes(nodes)
	return f
}

// startMembers starts `tend server` as a process, and agents in this one, each connected over TLS.
func startMembers(b *testing.B, nodes int) fleet {
	b.Helper()
	root := shortRoot(b)
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	b.Cleanup(func() { cancel(); parts.Wait() })
	binary := filepath.Join(root, "tend")
	if out, err := exec.Command("go", "build", "-o", binary, "tend.dev/tend/cmd/tend").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	server := exec.CommandContext(ctx, binary, "server", "--root", root, "--http", "off", "--no-agent",
		"--node-listen", loopback())
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	parts.Go(func() { _ = server.Wait() })
	f := connected(b, root)
	f.cpu = func() time.Duration { return processorTime(b, server.Process.Pid) }
	f.peakMiB = func() float64 { return peakMiB(b, server.Process.Pid) }
	f.count = func(of func(api.WorkloadStatus) int) (sum int) {
		objects, err := f.client.Objects(ctx, api.KindDeployment, client.ObjectFilter{})
		for _, object := range objects.Items {
			if status, decoded := api.DecodeStatus[api.WorkloadStatus](object); err == nil && decoded == nil {
				sum += of(status)
			}
		}
		return sum
	}
	token, err := f.client.JoinToken(ctx, api.JoinTokenRequest{Uses: 1000})
	if err != nil {
		b.Fatal(err)
	}
	for i := range nodes {
		engine := hollowEngine(b)
		o := member.Options{Server: token.Address, Token: token.Token, Options: host.Options{
			Root: filepath.Join(root, fmt.Sprint(i)), Node: fmt.Sprintf("worker-%d", i), Runtime: "hollow",
			MinFree: -1, Logger: quiet,
			Engine: func(cluster, node string) (runtime.Runtime, error) { return engine.Client(cluster, node), nil },
		}}
		parts.Go(func() {
			if err := member.Run(ctx, o); err != nil && ctx.Err() == nil {
				b.Errorf("%s: %v", o.Node, err)
			}
		})
	}
	f.awaitNodes(nodes)
	return f
}

// shortRoot returns a folder whose path is short enough for a socket in it.
func shortRoot(b *testing.B) string {
	b.Helper()
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

func hollowEngine(b *testing.B) *hollow.Engine {
	engine := hollow.NewEngine()
	engine.AddImage("web:1")
	engine.AddImage("web:2")
	b.Cleanup(engine.Close)
	return engine
}

// connected waits for the server of a root.
func connected(b *testing.B, root string) fleet {
	b.Helper()
	c, err := client.New(client.Options{Server: "unix://" + filepath.Join(root, "tend.sock")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	awaits(b, func() bool { ready, err := c.Readiness(b.Context()); return err == nil && ready.Ready })
	return fleet{b: b, client: c}
}

func (f fleet) awaitNodes(nodes int) {
	f.b.Helper()
	awaits(f.b, func() bool {
		if f.b.Failed() {
			f.b.FailNow()
		}
		known, err := f.client.Nodes(f.b.Context())
		return err == nil && countReady(known.Items) == nodes
	})
}

// deploy applies deployments of replicasEach pods.
func (f fleet) deploy(deployments int) { f.apply(deployments, "web:1") }

// redeploy applies them with another image.
func (f fleet) redeploy(deployments int) { f.apply(deployments, "web:2") }

func (f fleet) apply(deployments int, image string) {
	f.b.Helper()
	var objects []api.Object
	for i := range deployments {
		objects = append(objects, manifestOf(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: fmt.Sprint("web", i)},
			func(s *api.DeploymentSpec) {
				replicas(replicasEach)(s)
				s.Image, s.Strategy.MaxParallel = image, replicasEach/10
			}))
	}
	for file := range slices.Chunk(objects, objectsEach) {
		if _, err := f.client.Apply(f.b.Context(), api.ApplyRequest{Objects: file}); err != nil {
			f.b.Error(err)
		}
	}
}

func countReady(nodes []api.NodeInfo) (n int) {
	for _, node := range nodes {
		if node.Ready && node.Alive {
			n++
		}
	}
	return n
}

// committedProposals returns the number of entries in the log of this process's etcd.
func committedProposals(b *testing.B) float64 {
	b.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "etcd_server_proposals_committed_total" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	b.Fatal("etcd has no count of its proposals")
	return 0
}

// peakMiB returns the most memory that a process ever had resident.
func peakMiB(b *testing.B, pid int) float64 {
	b.Helper()
	process, err := procfs.NewProc(pid)
	if err != nil {
		b.Fatal(err)
	}
	status, err := process.NewStatus()
	if err != nil {
		b.Fatal(err)
	}
	return float64(status.VmHWM) / (1 << 20)
}

// processorTime returns the processor time that a process has used.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	process, err := procfs.NewProc(pid)
	if err != nil {
		b.Fatal(err)
	}
	stat, err := process.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second))
}
