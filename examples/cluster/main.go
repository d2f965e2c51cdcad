// Command cluster shows a cluster on this machine: three servers and three nodes, each a process, whose pods are plain
// processes. It kills a node with everything on it, then the server that leads, while requests go on, and says how many
// of them failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	tend := flag.String("tend", "bin/tend", "the tend binary")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *tend); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tend string) (err error) {
	c, err := newCluster(tend)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.cleanUp(err == nil)) }()
	for _, step := range []func(context.Context) error{c.startServers, c.startNodes, c.deploy, c.killNode, c.killLeader} {
		if err := step(ctx); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return c.verdict()
}

// startServers starts one server, and has two more join it.
func (c *cluster) startServers(ctx context.Context) error {
	say("Start a server that others can join, and have two more join it")
	for i := range 3 {
		join := []string{"--peer-listen", address(i, 2380), "--node-listen", address(i, 8688)}
		if i > 0 {
			words, err := c.added(0, "--server")
			if err != nil {
				return err
			}
			join = append(join, words...)
		}
		if err := c.start(c.server(i),
			append([]string{"server", "--name", c.server(i), "--no-agent", "--http", "off"}, join...)...); err != nil {
			return err
		}
		if err := c.until(ctx, c.server(i)+" answers",
			func() bool { return c.tendOn(i, "servers").Run() == nil }); err != nil {
			return err
		}
	}
	return c.show(2, "servers")
}

// added returns the flags that `tend nodes add` prints for a machine that joins.
func (c *cluster) added(server int, flags ...string) ([]string, error) {
	out, err := c.tendOn(server, append([]string{"nodes", "add"}, flags...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("tend nodes add: %w", err)
	}
	words := strings.Fields(string(out)) // tend agent --join ADDRESS --token TOKEN …
	if len(words) < 6 {
		return nil, fmt.Errorf("tend nodes add printed %q", out)
	}
	return words[2:6], nil
}

// startNodes has three nodes join.
func (c *cluster) startNodes(ctx context.Context) error {
	say("Three nodes join, each with a proxy of its own")
	for i := range 3 {
		words, err := c.added(0, "--ingress")
		if err != nil {
			return err
		}
		flags := append([]string{"agent", "--node", c.node(i), "--runtime", "process", "--callback-port", "0",
			"--ingress-http", address(10+i, 8080)}, words...)
		if err := c.start(c.node(i), flags...); err != nil {
			return err
		}
	}
	if err := c.until(ctx, "three nodes are ready", func() bool {
		out, err := c.tendOn(1, "nodes").Output()
		return err == nil && strings.Count(string(out), "ready") == 3
	}); err != nil {
		return err
	}
	return c.show(1, "nodes")
}

// deploy declares six copies through one server, and sends requests from then on.
func (c *cluster) deploy(ctx context.Context) error {
	say("Declare six copies of examples/hello through the second server")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o",
		filepath.Join(c.dir, "hello", "hello"), "./examples/hello")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build examples/hello: %w", err)
	}
	if err := c.show(1, "apply", "-f", "examples/cluster/cluster.hcl"); err != nil {
		return err
	}
	if err := c.show(2, "get", "pods"); err != nil {
		return err
	}
	if err := c.until(ctx, "the proxy of the first node answers", func() bool { return c.ask(ctx) == nil }); err != nil {
		return err
	}
	c.sendRequests(ctx)
	return nil
}

// killNode kills a node's agent with every process on it, as a power cut would.
func (c *cluster) killNode(ctx context.Context) error {
	say("Kill %s and everything on it; the others have %s to notice", c.node(2), nodeTimeout)
	if err := c.kill(c.node(2)); err != nil {
		return err
	}
	began := time.Now()
	if err := c.until(ctx, "six copies run on the two nodes that are left", func() bool {
		out, err := c.tendOn(2, "get", "pods").Output()
		return err == nil && c.readyOn(string(out), 0)+c.readyOn(string(out), 1) == 6
	}); err != nil {
		return err
	}
	fmt.Printf("six copies again after %.1f s\n", time.Since(began).Seconds())
	return errors.Join(c.show(2, "nodes"), c.show(2, "get", "pods"))
}

// readyOn counts the pods of a node that are ready in the output of `tend get pods`.
func (c *cluster) readyOn(table string, node int) (n int) {
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) > 2 && words[1] == "yes" && words[len(words)-1] == c.node(node) {
			n++
		}
	}
	return n
}

// killLeader kills the server whose controllers run, and deploys through another one.
func (c *cluster) killLeader(ctx context.Context) error {
	leader, err := c.leader()
	if err != nil {
		return err
	}
	left := (leader + 1) % 3
	say("Kill the server that leads, %s, and scale through %s", c.server(leader), c.server(left))
	if err := c.kill(c.server(leader)); err != nil {
		return err
	}
	began := time.Now()
	var out []byte
	if err := c.until(ctx, "a write is taken", func() bool {
		out, err = c.tendOn(left, "scale", "demo/hello", "8").CombinedOutput()
		return err == nil
	}); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	fmt.Printf("$ tend scale demo/hello 8\n%seight copies after %.1f s\n", out, time.Since(began).Seconds())
	return c.show(left, "servers")
}

// leader returns the place of the server that leads.
func (c *cluster) leader() (int, error) {
	out, err := c.tendOn(0, "servers").Output()
	if err != nil {
		return 0, fmt.Errorf("tend servers: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		for i := range 3 {
			if len(words) > 2 && words[0] == c.server(i) && words[2] == "yes" {
				return i, nil
			}
		}
	}
	return 0, errors.New("no server leads")
}
