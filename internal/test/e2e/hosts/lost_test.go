//go:build integration

package hosts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// lossTimeout is the silence after which a node is lost in BenchmarkReplacedInTime.
const lossTimeout = 15 * time.Second

// eightPods are plain processes, which take the least of the machine's processors. seconds identifies the processes.
const (
	seconds   = "86399"
	eightPods = `
deployment "prod" "web" {
  image    = "/usr/bin"
  command  = ["/bin/sleep", "` + seconds + `"]
  user     = "0"
  replicas = 8
}
`
)

// BenchmarkReplacedInTime measures how long after the last heartbeat of a node its pods are replaced elsewhere,
// whatever was lost with it: nothing, a server, or the server that leads. It asks the outside:
//
//   - the last heartbeat is the last renewal of the lease of the node's heartbeat before the harm, as the store of a
//     server that stays shows it;
//   - decided is when that store took the first task that replaces a pod;
//   - created is when the kernel started the first process of a replacement in another host's namespace.
//
// decided is to be within lossTimeout and a second more, and no other node may be lost. The harm follows a heartbeat at
// once. Run it with -benchtime 1x.
func BenchmarkReplacedInTime(b *testing.B) {
	agent := func(l *lab) *host { return l.hosts[3] }
	leads := func(l *lab) *host { is, _ := l.leader(); return is }
	follows := func(l *lab) *host { _, is := l.leader(); return is }
	itsServer := func(l *lab) *host { return l.serverOf(l.hosts[3]) }
	kill := func(h *host) { h.tend.end(syscall.SIGKILL) }
	cut := func(h *host) { h.cut(true) }
	for _, harm := range []struct {
		name string
		who  func(*lab) *host
		do   func(*host)
	}{
		{"agent-killed", agent, kill}, {"agent-cut", agent, cut}, {"follower-killed", follows, kill},
		{"its-server-killed", itsServer, kill}, {"leader-killed", leads, kill}, {"leader-cut", leads, cut},
	} {
		b.Run(harm.name, func(b *testing.B) {
			for b.Loop() {
				measureALoss(b, harm.who, harm.do)
			}
		})
	}
}

func measureALoss(b *testing.B, who func(*lab) *host, harm func(*host)) {
	l := newBareLab(b, 4, nil)
	l.flags = []string{"--node-timeout", lossTimeout.String(), "--heartbeat", "3s", "--runtime", "process"}
	b.Cleanup(func() { // after tend has ended
		for _, h := range l.hosts {
			for pid := range h.sleepers() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	l.startServers(3)
	l.hosts[3].startAgent()
	l.until("all have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 4 })
	file := filepath.Join(l.folder, "eight.hcl")
	if err := os.WriteFile(file, []byte(eightPods), 0o644); err != nil {
		b.Fatal(err)
	}
	l.must("apply", "-f", file)
	lost := who(l)
	elsewhere := 8 - len(lost.sleepers())
	stays := slices.IndexFunc(l.hosts, func(h *host) bool { return h != lost })
	w := l.hosts[stays].witness(lost.name)
	w.until("it has seen a heartbeat", func() bool { return !w.renewed.IsZero() })
	at := time.Now()
	harm(lost)
	w.harmed(at)
	created := func() (out []time.Time) { // polling tend would use the measured processors
		for _, h := range l.hosts {
			if h != lost {
				out = slices.AppendSeq(out, maps.Values(h.sleepers()))
			}
		}
		slices.SortFunc(out, time.Time.Compare)
		return out
	}
	l.until("its pods run elsewhere", func() bool { return len(created()) >= 8 })
	w.report(b, lost, at, created()[elsewhere])
}

// sleepers returns the start time of each process of a pod in the host's namespace, from the kernel.
func (h *host) sleepers() map[int]time.Time {
	h.lab.Helper()
	uptime, err := os.ReadFile("/proc/uptime")
	since, _, _ := strings.Cut(string(uptime), " ")
	up, wrong := strconv.ParseFloat(since, 64)
	if err = errors.Join(err, wrong); err != nil {
		h.lab.Fatal(err)
	}
	now, started := time.Now(), map[int]time.Time{}
	for _, pid := range strings.Fields(h.run("ip", "netns", "pids", h.space).output) {
		command, _ := os.ReadFile("/proc/" + pid + "/cmdline") // an ended process has no command line
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if string(command) != "/bin/sleep\x00"+seconds+"\x00" || len(fields) < 20 {
			continue
		}
		ticks, _ := strconv.ParseFloat(fields[19], 64) // hundredths of a second after the boot
		if number, err := strconv.Atoi(pid); err == nil {
			started[number] = now.Add(-time.Duration((up - ticks/100) * float64(time.Second)))
		}
	}
	return started
}

// startServers starts servers of one cluster on the first hosts.
func (l *lab) startServers(count int) {
	l.Helper()
	for i, h := range l.hosts[:count] {
		flags := []string{"--peer-listen", h.address + ":2380"}
		if i > 0 {
			flags = append(flags, l.joining("nodes", "add", "--server")...)
		}
		h.startServer(flags...)
	}
	l.leader()
}

// serverOf returns the host whose server an agent is connected to.
func (l *lab) serverOf(agent *host) (server *host) {
	l.Helper()
	l.until(agent.name+" is connected", func() bool {
		peers := agent.run("ss", "-tnH", "state", "established", "dport = :8688").output
		at := slices.IndexFunc(l.hosts, func(h *host) bool { return strings.Contains(peers, h.address+":8688") })
		if at >= 0 {
			server = l.hosts[at]
		}
		return at >= 0
	})
	return server
}

// witness reads the store of a server for a node's records.
type witness struct {
	*lab
	store *clientv3.Client
	node  string

	mu            sync.Mutex
	left          int64     // seconds of the heartbeat's lease, when it was looked at last
	renewed, harm time.Time // the last renewal before the harm, and the harm
	// claimed is when another server had the controllers after the harm, decided when the first new task was written.
	claimed, decided time.Time
	losses           map[string]time.Time
}

func (h *host) witness(node string) *witness {
	h.lab.Helper()
	store, err := clientv3.New(clientv3.Config{Logger: zap.NewNop(),
		Endpoints: []string{"unix://" + filepath.Join(h.root(), "state", "client.sock")}})
	if err != nil {
		h.lab.Fatal(err)
	}
	w := &witness{lab: h.lab, store: store, node: node, losses: map[string]time.Time{}}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	h.lab.Cleanup(func() { cancel(); reading.Wait(); _ = store.Close() })
	reading.Go(func() { w.renewals(ctx) })
	reading.Go(func() { w.writes(ctx) })
	return w
}

// renewals polls the remaining time of the lease, often.
func (w *witness) renewals(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var lease clientv3.LeaseID
	for ctx.Err() == nil {
		if alive, err := w.store.Get(ctx, "/alive/"+w.node); err == nil && len(alive.Kvs) > 0 {
			lease = clientv3.LeaseID(alive.Kvs[0].Lease)
		}
		asked := time.Now()
		is, err := w.store.TimeToLive(ctx, lease)
		w.mu.Lock()
		if err == nil && is.TTL > 0 && (w.harm.IsZero() || asked.Before(w.harm)) {
			if w.left > 0 && is.TTL > w.left {
				w.renewed = asked
			}
			w.left = is.TTL
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// writes waits for new tasks and for losses, after the harm.
func (w *witness) writes(ctx context.Context) {
	for answer := range w.store.Watch(ctx, "/", clientv3.WithPrefix()) {
		now := time.Now()
		w.mu.Lock()
		for _, event := range answer.Events {
			key := string(event.Kv.Key)
			node, loss := strings.CutPrefix(key, "/losses/")
			switch {
			case w.harm.IsZero() || event.Type != mvccpb.Event_PUT:
			case key == "/leases/controllers":
				w.claimed = now
			case loss:
				w.losses[node] = now
			case strings.HasPrefix(key, "/tasks/") && event.IsCreate() && w.decided.IsZero():
				w.decided = now
			}
		}
		w.mu.Unlock()
	}
}

// harmed sets the time of the harm: later renewals are those of a new leader of the store.
func (w *witness) harmed(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.harm = at.Add(100 * time.Millisecond) // a renewal just before the harm may be seen only now
}

func (w *witness) until(what string, holds func() bool) {
	w.Helper()
	w.lab.until(what, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return holds()
	})
}

func (w *witness) report(b *testing.B, lost *host, harmed, created time.Time) {
	b.Helper()
	w.until("the store says so", func() bool { return !w.decided.IsZero() && !w.losses[lost.name].IsZero() })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, is := range []struct {
		what string
		at   time.Time
	}{
		{"harmed", harmed}, {"claimed", w.claimed}, {"lost", w.losses[lost.name]}, {"decided", w.decided},
		{"created", created},
	} {
		if after := is.at.Sub(w.renewed).Seconds(); !is.at.IsZero() {
			b.ReportMetric(after, "s-"+is.what)
			b.Logf("%s %.2f s after the last heartbeat of %s", is.what, after, lost.name)
		}
	}
	var wrong error
	if took := w.decided.Sub(w.renewed); took < lossTimeout || took > lossTimeout+time.Second {
		wrong = fmt.Errorf("decided %s after the last heartbeat", took)
	}
	for node := range w.losses {
		if node != lost.name {
			wrong = errors.Join(wrong, fmt.Errorf("%s is lost too", node))
		}
	}
	if wrong != nil {
		b.Errorf("%s was lost: %v", lost.name, wrong)
	}
}
