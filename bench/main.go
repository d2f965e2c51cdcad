package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// settings are the flags.
type settings struct {
	tend   string
	pairs  int
	only   []string
	starts int
	swarm  bool
}

func main() {
	var s settings
	var only, bare string
	flag.StringVar(&s.tend, "tend", "bin/tend", "the tend binary")
	flag.IntVar(&s.pairs, "pairs", 5, "turns of each figure")
	flag.StringVar(&only, "only", "", "figures to take, separated by commas (default all): "+strings.Join(names(), ","))
	flag.IntVar(&s.starts, "starts", 8, "containers Tend starts at a time, as tend's --starts")
	flag.BoolVar(&s.swarm, "swarm", true, "measure Swarm too, in the same engine; it is set up for it and left again")
	flag.StringVar(&bare, "bare-etcd", "",
		"run a bare embedded etcd in this folder until the standard input ends (used by bench itself)")
	flag.Parse()
	if only != "" {
		s.only = strings.Split(only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if bare != "" {
		err = runBareEtcd(bare)
	} else {
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run takes the chosen figures in their order. If one fails, the others are still taken.
func run(ctx context.Context, s settings) (err error) {
	chosen, err := choose(s.only)
	if err != nil {
		return err
	}
	l, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	var faults []error
	for _, f := range chosen {
		if ctx.Err() != nil {
			return errors.Join(append(faults, context.Cause(ctx))...)
		}
		if err := f.take(ctx, l); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	return errors.Join(faults...)
}
