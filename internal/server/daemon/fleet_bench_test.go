package daemon

import (
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// BenchmarkFleet measures many nodes without containers: how many pods per second are reported as running after the
// apply, in deployments of 100; what processor time each takes; the first and the last percent; the memory; and what
// the fleet costs at rest. Run it with -benchtime 1x.
//
//   - A run whose name ends in tls is a server in a process of its own, and agents that are connected over TLS;
//     processor and memory are the server's alone. Beside the server at rest stands one that only answers as many
//     heartbeats.
//   - In the others everything is one process without TLS, and the agents' part is in all figures. A profile tells the
//     parts apart: go tool pprof -tagfocus side=agent.
func BenchmarkFleet(b *testing.B) {
	for _, size := range []struct {
		nodes, pods int
		tls         bool
	}{{100, 5_000, false}, {100, 5_000, true}, {1_000, 50_000, false}, {1_000, 50_000, true}} {
		name := fmt.Sprintf("%d-%d", size.nodes, size.pods)
		if size.tls {
			name += "-tls"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var f fleet
				if size.tls {
					f = startMembers(b, size.nodes)
				} else {
					f = startFleet(b, size.nodes)
				}
				measureFleet(b, f, "fleet-"+name, size.pods)
				if size.tls {
					report(b, "fleet-"+name, "%core-bare", bareAtRest(b, size.nodes))
				}
			}
		})
	}
}

// rest is the time for which a fleet at rest is measured, after as long a time for the last reports and reconciles.
const rest = 20 * time.Second

func measureFleet(b *testing.B, f fleet, name string, pods int) {
	began, cpu := time.Now(), f.cpu()
	applied := make(chan time.Duration, 1)
	go func() {
		f.deploy(pods / replicasEach)
		applied <- time.Since(began)
	}()
	stages := f.awaitStages(began, pods)
	took, used := stages[100], f.cpu()-cpu
	report := func(value float64, unit string) { report(b, name, unit, value) }
	report(float64(pods)/took.Seconds(), "pods/s")
	report((<-applied).Seconds(), "s-apply")
	report(stages[1].Seconds(), "s-first-percent")
	report((took - stages[99]).Seconds(), "s-last-percent")
	report(1000*used.Seconds()/float64(pods), "cpu-ms/pod")
	report(f.peakMiB(), "peak-MiB")
	<-time.After(rest)
	cpu, entries := f.cpu(), 0.0
	if f.proposals != nil {
		entries = f.proposals()
	}
	<-time.After(rest)
	report(100*(f.cpu()-cpu).Seconds()/rest.Seconds(), "%core-at-rest")
	if f.proposals != nil {
		report(f.proposals()-entries, "log-entries-at-rest")
	}
}

func report(b *testing.B, name, unit string, value float64) {
	b.Helper()
	fmt.Printf("bench: %s-%s %.2f\n", name, unit, value)
	b.ReportMetric(value, unit)
}

// BenchmarkReplace replaces every pod of deployments of 100 on 100 nodes in one process by the rolling strategy, ten of
// a deployment at a time, and measures how many pods a second that are, and what processor time each takes.
func BenchmarkReplace(b *testing.B) {
	const nodes, pods = 100, 5_000
	for b.Loop() {
		f := startFleet(b, nodes)
		f.deploy(pods / replicasEach)
		f.awaitStages(time.Now(), pods)
		began, cpu := time.Now(), f.cpu()
		f.redeploy(pods / replicasEach)
		replaced := func(s api.WorkloadStatus) int {
			if s.Image != "web:2" { // until its controller has seen the change, a status describes the earlier pods
				return 0
			}
			return min(s.Updated, s.Ready)
		}
		awaits(b, func() bool { return f.count(replaced) == pods })
		took, used := time.Since(began), f.cpu()-cpu
		for unit, value := range map[string]float64{
			"pods/s": pods / took.Seconds(), "cpu-ms/pod": 1000 * used.Seconds() / pods, "peak-MiB": f.peakMiB(),
		} {
			fmt.Printf("bench: replace-%d-%s %.2f\n", pods, unit, value)
			b.ReportMetric(value, unit)
		}
	}
}

// awaitStages waits until as many pods are reported as running, and returns how long after began it took for the first
// percent, for 99 and for all.
func (f fleet) awaitStages(began time.Time, pods int) map[int]time.Duration {
	f.b.Helper()
	stages := map[int]time.Duration{}
	awaits(f.b, func() bool {
		running := f.count(func(s api.WorkloadStatus) int { return s.Ready })
		for _, percent := range []int{1, 99, 100} {
			if stages[percent] == 0 && running >= pods*percent/100 {
				stages[percent] = time.Since(began)
			}
		}
		return running == pods
	})
	return stages
}
