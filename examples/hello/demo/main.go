// Command demo shows Tend at work on this machine: it starts a private server, deploys three copies of examples/hello,
// heals one that it kills, rolls to a second version, and removes everything it made. With a container engine the
// copies are containers; without one they are plain processes, and everything else is the same.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	tend := flag.String("tend", "bin/tend", "the tend binary")
	runtime := flag.String("runtime", "", "docker or process; default docker where an engine answers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *tend, *runtime); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tend, runtime string) (err error) {
	d, err := newDemo(tend, runtime)
	if err != nil {
		return err
	}
	defer func() {
		if cleanErr := d.cleanUp(); err == nil {
			err = cleanErr
		}
	}()
	for _, step := range []func(context.Context) error{
		d.prepare, d.startServer, d.deploy, d.kill, d.roll, d.remove,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.say("That was it. Everything the demo made is being removed.")
	return nil
}
