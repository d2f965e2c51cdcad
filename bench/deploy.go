package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// deploy measures the time from an apply until all containers run, against creating and starting as many; and back,
// from a delete until the containers are removed, against stopping and removing. With 20 it finds the raw API's best
// parallelism, which the other figures then use.
func deploy(n int) func(context.Context, *harness) error {
	return func(ctx context.Context, l *harness) error {
		deletes := times{}
		sides := []side{l.rawDeploy("raw", n, l.workers, deletes), l.tendDeploy(n, deletes)}
		if n == 20 {
			sides = []side{l.rawDeploy("raw4", n, 4, deletes), l.tendDeploy(n, deletes), l.rawDeploy("raw8", n, 8, deletes)}
		}
		t, err := l.take(ctx, fmt.Sprintf("deploy-%d", n), l.turnsFor(n), sides...)
		if err != nil {
			return err
		}
		peer := "raw"
		if n == 20 {
			peer = l.best(t)
		}
		compare(fmt.Sprintf("deploy-%d", n), t, "tend", peer, "raw")
		compare(fmt.Sprintf("delete-%d", n), deletes, "tend", peer, "raw")
		return nil
	}
}

// turnsFor returns the number of turns: fewer for long ones.
func (l *harness) turnsFor(n int) int {
	if n >= 50 {
		return max(l.pairs-2, 1)
	}
	return l.pairs
}

// best settles how many workers the raw API is quickest with.
func (l *harness) best(t times) string {
	best := "raw8"
	if t.median("raw4") < t.median("raw8") {
		best, l.workers = "raw4", 4
	}
	fmt.Fprintf(os.Stderr, "the raw API is best with %d workers\n", l.workers)
	return best
}

func (l *harness) rawDeploy(name string, n, workers int, deletes times) side {
	return side{name, func(ctx context.Context) (time.Duration, error) {
		ids, took, err := l.raw.runMany(ctx, n, workers, l.images[0])
		if err != nil {
			return 0, err
		}
		gone, err := l.raw.dropMany(ctx, ids, workers)
		deletes[name] = append(deletes[name], gone)
		return took, err
	}}
}

func (l *harness) tendDeploy(n int, deletes times) side {
	return side{"tend", func(ctx context.Context) (time.Duration, error) {
		d := l.deployment(n)
		took, err := d.deploy(ctx)
		if err != nil {
			return 0, err
		}
		gone, err := d.delete(ctx)
		deletes["tend"] = append(deletes["tend"], gone)
		return took, err
	}}
}

// scale measures scaling a running deployment from one count to another, against creating and starting the difference.
func scale(from, to int) func(context.Context, *harness) error {
	return func(ctx context.Context, l *harness) error {
		d := l.deployment(from)
		if _, err := d.deploy(ctx); err != nil {
			return err
		}
		name := fmt.Sprintf("scale-%d-%d", from, to)
		t, err := l.take(ctx, name, l.pairs, l.rawDeploy("raw", to-from, l.workers, times{}), d.scaling(from, to))
		if err != nil {
			return err
		}
		compare(name, t, "tend", "raw", "raw")
		return d.remove(ctx)
	}
}

// scaling scales up, which is measured, and back down.
func (d *deployment) scaling(from, to int) side {
	return side{"tend", func(ctx context.Context) (time.Duration, error) {
		took, err := d.scaleTo(ctx, to)
		if err != nil {
			return 0, err
		}
		_, err = d.scaleTo(ctx, from)
		return took, err
	}}
}
