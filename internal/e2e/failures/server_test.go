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
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/daemon"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/hollow"
	"tend.dev/tend/internal/store/memory"
)

// engine is a simulated engine that a script may take away; nil where a real one runs.
type engine = *hollow.Engine

// TestProcess plays what plain processes can show.
func TestProcess(t *testing.T) { play(t, "testdata/process", startProcess) }

// TestSimulated plays what needs an engine that refuses, as the engine would say it.
func TestSimulated(t *testing.T) { play(t, "testdata/simulated", startSimulated) }

// TestAlone plays what concerns a whole server: each script has its own.
func TestAlone(t *testing.T) { play(t, "testdata/alone", newSimulated) }

func serverRoot(address string) string {
	return filepath.Dir(strings.TrimPrefix(address, "unix://"))
}

// startProcess is the real server with plain processes.
var startProcess = sync.OnceValues(func() (string, engine) {
	root := newRoot()
	server := exec.Command(tendBinary, "server", "--runtime", "process", "--root", root, "--http", "off", "--node", "n1",
		"--ingress-http", "127.0.0.1:0", "--ingress-https", "127.0.0.1:0")
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		panic(err)
	}
	endings = append(endings, func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		_ = os.RemoveAll(root)
	})
	return await(root), nil
})

var startSimulated = sync.OnceValues(newSimulated)

// newSimulated is a server in this process over an engine that is made of memory.
func newSimulated() (string, engine) {
	root, store := newRoot(), memory.New()
	simulated := hollow.NewEngine(hollow.Options{Behaviour: behaviour, MemoryBytes: 8 << 30})
	for _, image := range images {
		simulated.AddImage(image)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Root: root, HTTP: "off", Node: "n1", Runtime: "hollow", Store: store, Logger: slog.New(slog.DiscardHandler),
			Engine:  func(cluster, node string) (runtime.Runtime, error) { return simulated.Client(cluster, node), nil },
			Ingress: daemon.IngressOptions{HTTP: "127.0.0.1:0", HTTPS: "127.0.0.1:0"},
		})
	}()
	endings = append(endings, func() {
		cancel()
		<-done
		simulated.Close()
		_ = os.RemoveAll(root)
	})
	return await(root), simulated
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

var images = []string{"web:1", "web:2", "crash:1", "oom:1", "port:1", "mount:1", "command:1", "denied:1", "once:1", "killed:1", "slow:1", "user:1", "full:1", "late:1"}

// behaviour is what the containers of an image do.
func behaviour(spec runtime.ContainerSpec) hollow.Behaviour {
	refuse := func(reason, detail, next string) hollow.Behaviour {
		return hollow.Behaviour{StartError: &runtime.RejectedError{Reason: reason, Detail: detail, Next: next}}
	}
	name, _, _ := strings.Cut(spec.Image, ":")
	switch name {
	case "crash":
		return hollow.Behaviour{Exits: true, ExitCode: 3, Output: []string{"connect db:5432: connection refused", "fatal: no database"}}
	case "once":
		return hollow.Behaviour{Exits: true, ExitCode: 0, Output: []string{"done"}}
	case "oom":
		return hollow.Behaviour{Exits: true, OOM: true, ExitCode: 137, Output: []string{"loading the index"}}
	case "late":
		return hollow.Behaviour{Unhealthy: true, Output: []string{"waiting for the cache"}}
	case "port":
		return refuse("PortTaken", "port 127.0.0.1:18861 is in use by python3 (pid 14476)", "stop it, or change `ports`; Tend retries")
	case "command":
		return refuse("CommandNotFound", "the image has no program /nosuch", "correct `command` or `entrypoint`")
	case "full":
		return hollow.Behaviour{CreateError: &runtime.TransientError{Reason: "DiskFull", Detail: "create container: no space left on device", Next: "free space on the node"}}
	}
	return hollow.Behaviour{Output: []string{"serving " + spec.Image}}
}

// engineCmd takes the simulated engine away, or brings it back.
func engineCmd(ts *testscript.TestScript, _ bool, args []string) {
	simulated := storyOf(ts).engine
	switch args[0] {
	case "disconnect":
		simulated.Disconnect()
	case "reconnect":
		simulated.Reconnect()
	default:
		ts.Check(fmt.Errorf("unknown: engine %s", args[0]))
	}
}
