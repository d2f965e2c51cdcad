package prober_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent/prober"
)

// harness is a prober with scripted answers. It runs in a synctest bubble.
type harness struct {
	*prober.Prober
	t     *testing.T
	began time.Time

	mu      sync.Mutex
	answer  func(ctx context.Context, a prober.Attempt) probe.Result
	asked   []string
	times   []time.Duration
	running int
	most    int
	changed []string
}

func start(t *testing.T, o prober.Options) *harness {
	l := &harness{t: t, began: time.Now()}
	o.Ask, o.Changed = l.ask, l.change
	l.Prober = prober.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *harness) ask(ctx context.Context, a prober.Attempt) probe.Result {
	l.mu.Lock()
	l.asked = append(l.asked, a.Container+" "+string(a.Kind))
	l.times = append(l.times, time.Since(l.began))
	l.running++
	l.most = max(l.most, l.running)
	answer := l.answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.running--
		l.mu.Unlock()
	}()
	if answer == nil {
		return probe.Result{Pass: true}
	}
	return answer(ctx, a)
}

func (l *harness) change(task string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = append(l.changed, task)
}

// taken returns the attempts since the last call, sorted.
func (l *harness) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.asked
	l.asked = nil
	slices.Sort(out)
	return out
}

func (l *harness) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

func (l *harness) want(what ...string) {
	l.t.Helper()
	slices.Sort(what)
	if diff := cmp.Diff(what, l.taken()); diff != "" {
		l.t.Errorf("at %s (-want +got):\n%s", time.Since(l.began), diff)
	}
}

var (
	tcp       = &api.Probe{TCPSocket: &api.TCPSocket{Port: 80}}
	readiness = api.Probes{Readiness: tcp}
)

func target(task, container string, probes api.Probes) prober.Target {
	return prober.Target{
		Task: task, Container: container, StartedAt: time.Now(), Probes: probes,
		Status: probe.Carry(&probes, nil, false, time.Now()),
	}
}

func TestFollowsEachIncarnationOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, prober.Options{})
		first := target("t1", "c1", readiness)
		l.Follow(first)
		synctest.Wait()
		l.want("c1 readiness")
		if got, _ := l.Answers("t1"); got.Status["readiness"].Phase != api.ProbeHealthy || len(l.changed) != 1 {
			t.Errorf("answers %+v, notified of %v", got, l.changed)
		}
		l.Follow(first) // as every reconcile does
		l.pass(20 * time.Second)
		l.want("c1 readiness", "c1 readiness") // the early one and one a period later
		l.Follow(target("t1", "c2", readiness))
		synctest.Wait()
		l.want("c2 readiness")
		l.Leave("t1")
		l.pass(time.Minute)
		l.want()
		if _, followed := l.Answers("t1"); followed {
			t.Error("it is followed after it was left")
		}
	})
}

func TestLeavingCutsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, prober.Options{})
		l.answer = func(ctx context.Context, _ prober.Attempt) probe.Result {
			<-ctx.Done()
			return probe.Result{Pass: true}
		}
		l.Follow(target("t1", "c1", readiness))
		l.pass(time.Second)
		l.Leave("t1")
		synctest.Wait()
		if len(l.changed) > 0 || l.running > 0 {
			t.Errorf("what was left changed something: %v, %d attempts", l.changed, l.running)
		}
		// Attempts of the last incarnation don't count for the next.
		l.Follow(target("t1", "c1", readiness))
		l.pass(time.Second)
		next := target("t1", "c1", readiness)
		l.answer = nil
		l.Follow(next)
		synctest.Wait()
		if got, _ := l.Answers("t1"); !got.StartedAt.Equal(next.StartedAt) || len(l.changed) != 1 {
			t.Errorf("answers %+v after %v", got, l.changed)
		}
	})
}

// TestAttemptsAreBounded: a hundred containers that hang wait for each other without a hundred goroutines, and commands
// don't delay sockets.
func TestAttemptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, prober.Options{Sockets: 8, Commands: 3})
		most := map[bool]int{}
		running := map[bool]int{}
		l.answer = func(_ context.Context, a prober.Attempt) probe.Result {
			command := a.Probe.Exec != nil
			l.mu.Lock()
			running[command]++
			most[command] = max(most[command], running[command])
			l.mu.Unlock()
			time.Sleep(a.Timeout) // the bubble's clock
			l.mu.Lock()
			running[command]--
			l.mu.Unlock()
			return probe.Result{Message: "hangs"}
		}
		both := api.Probes{Readiness: tcp, Liveness: &api.Probe{Exec: &api.ExecProbe{Command: []string{"x"}}, Period: "1m"}}
		for i := range 20 {
			l.Follow(target(fmt.Sprint("t", i), fmt.Sprint("c", i), both))
		}
		l.pass(3*time.Second + time.Millisecond)
		if most[false] != 8 || most[true] != 3 {
			t.Errorf("%d sockets and %d commands ran at once, want 8 and 3", most[false], most[true])
		}
		counted := map[string]int{}
		for _, what := range l.taken() {
			counted[what]++
		}
		for i := range 20 {
			if counted[fmt.Sprintf("c%d readiness", i)] == 0 {
				t.Errorf("c%d was not asked within three timeouts", i)
			}
		}
	})
}

// TestThousandProbesSpread: a thousand containers that start together are probed at once, and from then on evenly.
func TestThousandProbesSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, prober.Options{})
		for i := range 1000 {
			l.Follow(target(fmt.Sprint("t", i), fmt.Sprint("c", i), readiness))
		}
		l.pass(30 * time.Second)
		slots := map[time.Duration]int{}
		for _, at := range l.times {
			if at >= 10*time.Second && at < 20*time.Second {
				slots[at/(10*time.Millisecond)]++
			}
		}
		asks, most := 0, 0
		for _, n := range slots {
			asks += n
			most = max(most, n)
		}
		if asks < 990 || asks > 1010 {
			t.Errorf("%d attempts in a period of 1,000 probes", asks)
		}
		if most > 3 { // evenly would be 1
			t.Errorf("%d attempts within 10 ms", most)
		}
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		l := start(t, prober.Options{Metrics: prober.NewMetrics(registry)})
		l.Follow(target("t1", "c1", readiness))
		synctest.Wait()
		families, err := registry.Gather()
		if err != nil || len(families) != 2 {
			t.Fatalf("%d families: %v", len(families), err)
		}
		labels := map[string]string{}
		for _, label := range families[1].GetMetric()[0].GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		want := map[string]string{"probe": "readiness", "type": "tcp_socket", "result": "pass"}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Error(diff)
		}
	})
}
