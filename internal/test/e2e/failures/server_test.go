package failures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
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

// engine is a simulated engine that a script may stop, with the store's disk that it may fill; nil with real ones.
type engine = *simulated

type simulated struct {
	*hollow.Engine
	disk *disk
}

// disk is a store that can be set to be full.
type disk struct {
	store.Store
	full atomic.Bool
}

// Room implements store.Bounded.
func (d *disk) Room() error {
	if !d.full.Load() {
		return nil
	}
	return &store.SpaceError{Cause: store.ErrNoSpace,
		Text: "server n1 takes no writes: /var/lib/tend/state has 16 MiB free, 256 MiB must stay free"}
}

// Commit implements store.Store.
func (d *disk) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if err := d.Room(); err != nil {
		return 0, err
	}
	return d.Store.Commit(ctx, txn)
}

// TestProcess runs scripts for which plain processes suffice.
func TestProcess(t *testing.T) { play(t, "testdata/process", startProcess) }

// TestSimulated runs scripts that need an engine that refuses, with the engine's own messages.
func TestSimulated(t *testing.T) { play(t, "testdata/simulated", startSimulated) }

// TestAlone runs scripts that affect a whole server: each script has its own.
func TestAlone(t *testing.T) { play(t, "testdata/alone", newSimulated) }

func serverRoot(address string) string {
	return filepath.Dir(strings.TrimPrefix(address, "unix://"))
}

// takenPort is a port of this machine that this process holds, and httpAddress where the server with plain processes
// listens.
var takenPort, httpAddress string

// startProcess is the real server with plain processes.
var startProcess = sync.OnceValues(func() (string, engine) {
	port, err := freePort()
	if err != nil {
		panic(err)
	}
	httpAddress = "127.0.0.1:" + port
	return startServer("--runtime", "process", "--http", httpAddress, "--plugin-timeout", "2s",
		"--ingress-http", "127.0.0.1:0", "--ingress-https", "127.0.0.1:0"), nil
})

// startServer starts the binary's server until all scripts have ended, and returns its address.
func startServer(flags ...string) string {
	root := newRoot()
	server := exec.Command(tendBinary, append([]string{"server", "--root", root, "--node", "n1"}, flags...)...)
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		panic(err)
	}
	atEnd(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		_ = os.RemoveAll(root)
	})
	return await(root)
}

var startSimulated = sync.OnceValues(newSimulated)

// newSimulated starts a server in this process over a simulated engine.
func newSimulated() (string, engine) {
	root := newRoot()
	made := &simulated{hollow.NewEngine(hollow.Options{Behaviour: behaviour, MemoryBytes: 8 << 30}),
		&disk{Store: memory.New()}}
	for _, image := range images {
		made.AddImage(image)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Options: host.Options{
				Root: root, Node: "n1", Runtime: "hollow", Logger: slog.New(slog.DiscardHandler),
				Engine:  func(cluster, node string) (runtime.Runtime, error) { return made.Client(cluster, node), nil },
				Ingress: host.IngressOptions{HTTP: "127.0.0.1:0", HTTPS: "127.0.0.1:0"},
			},
			HTTP: "off", Store: made.disk,
		})
	}()
	atEnd(func() {
		cancel()
		<-done
		made.Close()
		_ = os.RemoveAll(root)
	})
	return await(root), made
}

func newRoot() string {
	root, err := os.MkdirTemp("", "tend") // short: a socket lies in it
	if err != nil {
		panic(err)
	}
	return root
}

// await returns the address of a server once it is ready.
func await(root string) string {
	address := "unix://" + filepath.Join(root, "tend.sock")
	c, err := client.New(client.Options{Server: address})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for range ticks(20 * time.Millisecond) {
		if readiness, err := c.Readiness(context.Background()); err == nil && readiness.Ready {
			return address
		}
	}
	panic(errors.New("the server at " + root + " is not ready"))
}

var images = []string{"web:1", "web:2", "crash:1", "oom:1", "port:1", "mount:1", "command:1", "denied:1", "once:1",
	"killed:1", "slow:1", "user:1", "full:1", "late:1"}

// behaviour returns the behaviour of an image's containers.
func behaviour(spec runtime.ContainerSpec) hollow.Behaviour {
	refuse := func(reason, detail, next string) hollow.Behaviour {
		return hollow.Behaviour{StartError: &runtime.RejectedError{Reason: reason, Detail: detail, Next: next}}
	}
	name, _, _ := strings.Cut(spec.Image, ":")
	switch name {
	case "crash":
		return hollow.Behaviour{Exits: true, ExitCode: 3,
			Output: []string{"connect db:5432: connection refused", "fatal: no database"}}
	case "once":
		return hollow.Behaviour{Exits: true, ExitCode: 0, Output: []string{"done"}}
	case "oom":
		return hollow.Behaviour{Exits: true, OOM: true, ExitCode: 137, Output: []string{"loading the index"}}
	case "late":
		return hollow.Behaviour{Unhealthy: true, Output: []string{"waiting for the cache"}}
	case "port":
		return refuse("PortTaken", "port 127.0.0.1:18861 is in use by python3 (pid 14476)",
			runtime.FreePort)
	case "command":
		return refuse("CommandNotFound", "the image has no program /nosuch", "correct `command` or `entrypoint`")
	case "full":
		return hollow.Behaviour{CreateError: runtime.DiskFull("node n1", "create container "+spec.Name)}
	}
	return hollow.Behaviour{Output: []string{"serving " + spec.Image}}
}

// engineCmd stops or starts the simulated engine, and fills or frees its disk.
func engineCmd(ts *testscript.TestScript, _ bool, args []string) {
	simulated := storyOf(ts).engine
	switch args[0] {
	case "disconnect":
		simulated.Disconnect()
	case "reconnect":
		simulated.Reconnect()
	case "fill":
		simulated.disk.full.Store(true)
	case "free":
		simulated.disk.full.Store(false)
	default:
		ts.Check(fmt.Errorf("unknown: engine %s", args[0]))
	}
}
