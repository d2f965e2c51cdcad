package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/server/daemon"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
)

// machine is the base of a script's servers: a root, a store and a simulated engine that outlive them.
type machine struct {
	root   string
	store  store.Store
	engine *hollow.Engine
	client *client.Client
	// cancel and done belong to the running server, nil if there is none.
	cancel context.CancelFunc
	done   chan error
}

// kept is a store that only the machine closes.
type kept struct{ store.Store }

func (kept) Close() error { return nil }

func setup(env *testscript.Env) error {
	m, err := newMachine()
	if err != nil {
		return err
	}
	env.Values["machine"] = m
	env.Setenv("TEND_ROOT", m.root)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	env.Setenv("HTTP", free.Addr().String())
	free.Close()
	env.Defer(m.close)
	return m.start()
}

func newMachine() (*machine, error) {
	// A socket's path is short: the script's own folder is too deep.
	root, err := os.MkdirTemp("", "tendcli")
	if err != nil {
		return nil, err
	}
	m := &machine{root: root, store: memory.New(), engine: hollow.NewEngine(hollow.Options{
		// A start takes as long as on a quick container runtime, so that a poll a tenth of a second later still sees
		// it.
		StartDelay: hollow.Delay(250 * time.Millisecond),
	})}
	m.engine.Behave(behaviour)
	for _, image := range []string{"web:1", "web:2", "crash:1", "crash:late"} {
		m.engine.AddImage(image)
	}
	m.client, err = client.New(client.Options{Server: m.url()})
	return m, err
}

func (m *machine) url() string { return "unix://" + filepath.Join(m.root, "tend.sock") }

func (m *machine) close() {
	m.stop()
	m.client.Close()
	m.engine.Close()
	_ = m.store.Close()
	_ = os.RemoveAll(m.root)
}

// behaviour returns what containers do, by their image: crash ends at once or a little later, the others print their
// image and run on.
func behaviour(spec runtime.ContainerSpec) hollow.Behaviour {
	if strings.HasPrefix(spec.Image, "crash") {
		does := hollow.Behaviour{Exits: true, ExitCode: 3, Output: []string{"fatal: DATABASE_URL is not set"}}
		if spec.Image == "crash:late" {
			does.ExitAfter = time.Second
		}
		return does
	}
	return hollow.Behaviour{Output: []string{"serving " + spec.Image}, Exec: command}
}

// command simulates the shell of containers and returns its exit code.
func command(call hollow.ExecCall) int {
	switch words := call.Options.Command; words[0] {
	case "echo":
		fmt.Fprintln(call.Stdout, strings.Join(words[1:], " "))
	case "warn":
		fmt.Fprintln(call.Stderr, strings.Join(words[1:], " "))
	case "printenv":
		fmt.Fprintln(call.Stdout, strings.Join(call.Options.Env, "\n"))
	case "cat":
		_, _ = io.Copy(call.Stdout, call.Stdin)
	case "fail":
		return 7
	default:
		fmt.Fprintf(call.Stderr, "%s: not found\n", words[0])
		return 127
	}
	return 0
}

// start runs a server until it answers that it is ready.
func (m *machine) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.done = cancel, make(chan error, 1)
	go func(done chan<- error) {
		done <- daemon.Run(ctx, daemon.Options{
			Options: host.Options{
				Root: m.root, Node: "n1", Runtime: "hollow", Logger: slog.New(slog.DiscardHandler),
				Engine:  func(cluster, node string) (runtime.Runtime, error) { return m.engine.Client(cluster, node), nil },
				Ingress: host.IngressOptions{HTTP: "127.0.0.1:0", HTTPS: "127.0.0.1:0"},
			},
			HTTP: "off", Store: kept{m.store},
		})
	}(m.done)
	return eventually("the server is ready", func() bool {
		readiness, err := m.client.Readiness(ctx)
		return err == nil && readiness.Ready
	})
}

func (m *machine) stop() {
	if m.cancel == nil {
		return
	}
	m.cancel()
	<-m.done
	m.cancel = nil
}

// eventually waits for a condition.
func eventually(what string, holds func() bool) error {
	deadline, tick := time.After(20*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("in vain: " + what)
		}
	}
	return nil
}

// firstLine of a text.
func firstLine(text string) string {
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Scan()
	return scanner.Text()
}
