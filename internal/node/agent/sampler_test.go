package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// burning returns an engine whose containers use that many percent of a core.
func burning(percent float64) hollow.Options {
	return hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
		return hollow.Behaviour{CPUPercent: percent, Stats: runtime.Stats{MemoryBytes: 7}}
	}}
}

func near(got, want float64) bool { return got > want*0.99 && got < want*1.01 }

// TestStatsOfHundreds: all are sampled in the time of one, and a second call at once gets the same answer.
func TestStatsOfHundreds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, burning(150))
		l.start()
		defer l.close()
		const count = 300
		var tasks []string
		for i := range count {
			tasks = append(tasks, l.deploy(taskID(i), nil).ID)
		}
		l.pass(time.Second)
		began := time.Now()
		usages := l.agent.Stats(context.Background(), append(tasks, "unknown"))
		if took := time.Since(began); took > 250*time.Millisecond {
			t.Errorf("a first round took %s, want the shortest window of a rate", took)
		}
		for i, u := range usages[:count] {
			if u.Err != nil || !near(u.CPUPercent, 150) || u.MemoryBytes != 7 {
				t.Fatalf("%s: %+v", tasks[i], u)
			}
		}
		if err := usages[count].Err; !errors.Is(err, node.ErrNoPod) {
			t.Errorf("an unknown task: %v", err)
		}
		before := usages[0].At
		if again := l.agent.Stats(context.Background(), tasks[:1]); !again[0].At.Equal(before) {
			t.Error("an answer a moment old wasn't given again")
		}
		l.pass(5 * time.Second)
		began = time.Now()
		if later := l.agent.Stats(context.Background(), tasks[:1]); !later[0].At.After(before) || time.Since(began) > 0 {
			t.Errorf("after 5 s the answer is of %s, took %s", later[0].At.Sub(before), time.Since(began))
		}
	})
}

// TestStatsOfAContainerThatGoes: its own entry has the error, the others have their figures.
func TestStatsOfAContainerThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, burning(50))
		l.start()
		defer l.close()
		stays, goes := l.deploy(taskID(1), nil), l.deploy(taskID(2), nil)
		l.settle()
		time.AfterFunc(100*time.Millisecond, func() { l.must(l.engine.RemoveByHand(goes.ContainerName())) })
		usages := l.agent.Stats(context.Background(), []string{stays.ID, goes.ID})
		if usages[0].Err != nil || usages[1].Err == nil {
			t.Errorf("usages %+v", usages)
		}
	})
}

// TestStatsAreCut: a cancelled call is not waited for.
func TestStatsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		usages := l.agent.Stats(ctx, []string{task.ID})
		if !errors.Is(usages[0].Err, context.DeadlineExceeded) || time.Since(began) > 50*time.Millisecond {
			t.Errorf("after %s: %+v", time.Since(began), usages[0])
		}
	})
}

// TestLoadIsTheMeanSinceTheLastSample: the mean is of one incarnation, however often others call Stats.
func TestLoadIsTheMeanSinceTheLastSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, burning(80))
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		load := func() runtime.Usage { return l.agent.Load(context.Background(), []string{task.ID})[0] }
		if first := load(); !errors.Is(first.Err, agent.ErrNoRate) {
			t.Errorf("the first sample: %+v", first)
		}
		l.pass(time.Second)
		if soon := load(); !errors.Is(soon.Err, agent.ErrNoRate) {
			t.Errorf("a sample within half the window: %+v", soon)
		}
		l.pass(14 * time.Second)
		mean := load()
		if mean.Err != nil || !near(mean.CPUPercent, 80) {
			t.Errorf("after a window: %+v", mean)
		}
		l.must(l.engine.RestartByHand(task.ContainerName()))
		l.pass(15 * time.Second)
		if other := load(); !errors.Is(other.Err, agent.ErrNoRate) {
			t.Errorf("the first sample of another incarnation: %+v", other)
		}
	})
}
