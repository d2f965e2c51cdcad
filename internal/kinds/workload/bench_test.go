package workload

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// grown returns a harness with a deployment of n slots that is up to date.
func grown(b *testing.B, n int) *harness {
	b.Helper()
	l := newHarness(b)
	l.apply(replicas(n, "web:1"))
	for range 30 {
		l.looks()
		l.place()
		l.runAgent()
		l.pass(10)
	}
	if s := l.status(); s.Updated != n {
		b.Fatalf("%d of %d slots are up to date", s.Updated, n)
	}
	return l
}

// BenchmarkReconcile measures a deployment that is up to date: a whole reconcile, the pass over the view, and the
// decision alone.
func BenchmarkReconcile(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		l := grown(b, n)
		b.Run(fmt.Sprintf("current/%d", n), func(b *testing.B) {
			for b.Loop() {
				l.looks()
			}
		})
		b.Run(fmt.Sprintf("dirty/%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(l.c.Dirty(l.now)) > 0 {
					b.Fatal("an up-to-date deployment is dirty")
				}
			}
		})
		b.Run(fmt.Sprintf("assess/%d", n), func(b *testing.B) {
			o := l.observed()
			for b.Loop() {
				if _, err := l.c.assess(o, l.now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStep measures the collection of the writes of a reconcile that stops as many slots as one commit takes.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		l := grown(b, n)
		l.apply(replicas(0, "web:1"))
		o := l.observed()
		a, err := l.c.assess(o, l.now)
		if err != nil {
			b.Fatal(err)
		}
		actions, _ := firstActions(a.plan.Actions)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				w := begin(l.observation(), o, a)
				for _, action := range actions {
					w.write(action)
				}
				if w.txn.Len() != len(actions) {
					b.Fatalf("%d writes for %d actions", w.txn.Len(), len(actions))
				}
			}
		})
	}
}

// BenchmarkBucket measures the environment of a deployment with a thousand config values.
func BenchmarkBucket(b *testing.B) {
	l := newHarness(b)
	l.apply(replicas(0, "web:1"))
	l.write(func(txn *records.Txn) {
		for i := range 1000 {
			txn.Put(records.ConfigAppPrefix("prod", "web")+fmt.Sprintf("KEY_%d", i), []byte("sealed:value"))
		}
	})
	for b.Loop() {
		if _, env, err := l.c.env.Resolve(l.snapshot(), web, api.Container{}); err != nil || len(env) != 1000 {
			b.Fatalf("%d values, %v", len(env), err)
		}
	}
}
