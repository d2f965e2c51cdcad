package main

import (
	"context"
	"fmt"
	"time"
)

// replaceAll switches every slot to another image at once, stopping the old container of each first.
func replaceAll(n int) func(context.Context, *harness) error {
	return func(ctx context.Context, l *harness) error {
		return l.replace(ctx, fmt.Sprintf("replace-%d", n), n, l.workers, 1000)
	}
}

// replaceSerially switches the slots one by one, against a loop that does nothing else.
func replaceSerially(n int) func(context.Context, *harness) error {
	return func(ctx context.Context, l *harness) error {
		return l.replace(ctx, fmt.Sprintf("roll-%d", n), n, 1, 1)
	}
}

// replace starts both sides' containers once, and replaces them in every turn, each time with the other image.
func (l *harness) replace(ctx context.Context, name string, n, workers, parallel int) error {
	ids, _, err := l.raw.runMany(ctx, n, l.workers, l.images[0])
	if err != nil {
		return err
	}
	d := l.deployment(n)
	d.spec.Strategy.MaxParallel, d.spec.Strategy.Monitor = parallel, "0s" // the raw side waits for no proof either
	if _, err := d.deploy(ctx); err != nil {
		return err
	}
	turn := 0
	t, err := l.take(ctx, name, l.pairs, side{"raw", func(ctx context.Context) (time.Duration, error) {
		turn++
		return l.raw.replaceMany(ctx, ids, workers, l.images[turn%2])
	}}, side{"tend", func(ctx context.Context) (time.Duration, error) {
		took, err := d.roll(ctx)
		if err != nil {
			return 0, err
		}
		return took, d.settle(ctx)
	}})
	if err != nil {
		return err
	}
	compare(name, t, "tend", "raw", "raw")
	if _, err := l.raw.dropMany(ctx, ids, l.workers); err != nil {
		return err
	}
	return d.remove(ctx)
}
