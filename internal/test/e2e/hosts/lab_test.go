//go:build integration

package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"tend.dev/tend/internal/test/testimage"
)

// patience is the time that a condition may take on a busy machine before the test fails.
const patience = 2 * time.Minute

// tendBinary is the program that every host runs, archives the images web:1 and web:2.
var (
	tendBinary string
	archives   [2][]byte
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "tendtest-")
	if err == nil {
		tendBinary = filepath.Join(folder, "tend")
		build := exec.Command("go", "build", "-o", tendBinary, "tend.dev/tend/cmd/tend")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var output []byte
		if output, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("build tend: %w: %s", err, output)
		}
	}
	for i := range archives {
		if err == nil {
			archives[i], err = testimage.Archive(context.Background(), fmt.Sprint("v", i+1), fmt.Sprint("web:", i+1))
		}
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests of several hosts:", err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// lab is several hosts and the switch between them.
type lab struct {
	testing.TB
	folder string
	plug   string // the switch's namespace
	hosts  []*host
	flags  []string // of every process of tend
	logs   bool     // each host logs the requests to its ingress
}

// host is a machine with an engine. Its first process of tend is a server on the first host, and an agent on the
// others.
type host struct {
	lab     *lab
	name    string
	space   string // its namespace
	address string
	folder  string
	disk    string // where the engine's data and tend's root are; the folder, unless the test has a disk for them
	engine  *process
	tend    *process
	serves  bool // tend is a server
	plain   bool // its agent joins without --ingress
}

// newLab makes hosts, whose engines run.
func newLab(t testing.TB, count int) *lab {
	t.Helper()
	return newLabOn(t, count, nil)
}

// newLabOn is newLab with the folders of disks by the hosts' names.
func newLabOn(t testing.TB, count int, disks map[string]string) *lab {
	t.Helper()
	l := newBareLab(t, count, disks)
	for _, h := range l.hosts {
		h.startEngine()
	}
	for _, h := range l.hosts {
		h.loadImages()
	}
	return l
}

// benches has the places of labs: stories wait more than they compute, so two of them go on side by side.
var benches = make(chan struct{}, 2)

// newBareLab makes hosts without engines. A test goes on beside others from here.
func newBareLab(t testing.TB, count int, disks map[string]string) *lab {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	benches <- struct{}{}
	t.Cleanup(func() { <-benches })
	folder, err := os.MkdirTemp("", "tend") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	id := filepath.Base(folder)
	l := &lab{TB: t, folder: folder, plug: id + "-s", flags: fast}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l.ip("netns", "add", l.plug)
	t.Cleanup(func() { l.ip("netns", "delete", l.plug) })
	l.ip("-n", l.plug, "link", "add", "br0", "type", "bridge")
	l.ip("-n", l.plug, "link", "set", "br0", "up")
	for i := range count {
		h := &host{lab: l, name: fmt.Sprint("h", i+1), space: fmt.Sprint(id, "-", i+1),
			address: fmt.Sprint("192.168.77.", i+1), folder: filepath.Join(folder, fmt.Sprint(i+1))}
		h.disk = h.folder
		if disk := disks[h.name]; disk != "" {
			h.disk = disk
		}
		l.hosts = append(l.hosts, h)
		h.plugIn()
	}
	return l
}

func (l *lab) ip(args ...string) {
	l.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, output)
	}
}

// plugIn makes the host's namespace and connects it to the switch.
func (h *host) plugIn() {
	h.lab.Helper()
	h.lab.ip("netns", "add", h.space)
	h.lab.Cleanup(func() { h.lab.ip("netns", "delete", h.space) })
	h.lab.ip("-n", h.lab.plug, "link", "add", h.name, "type", "veth", "peer", "name", "eth0", "netns", h.space)
	h.lab.ip("-n", h.lab.plug, "link", "set", h.name, "master", "br0", "up")
	h.lab.ip("-n", h.space, "link", "set", "lo", "up")
	h.lab.ip("-n", h.space, "addr", "add", h.address+"/24", "dev", "eth0")
	h.lab.ip("-n", h.space, "link", "set", "eth0", "up")
	if err := os.Mkdir(h.folder, 0o755); err != nil {
		h.lab.Fatal(err)
	}
}

// cut disconnects the host from the switch, or connects it again.
func (h *host) cut(out bool) {
	h.lab.Helper()
	h.lab.ip("-n", h.lab.plug, "link", "set", h.name, map[bool]string{true: "down", false: "up"}[out])
}

// inside returns a command that runs in the host's namespace. The mounts stay those of the machine: an engine needs its
// cgroups.
func (h *host) inside(args ...string) *exec.Cmd {
	command := exec.Command("nsenter", append([]string{"--net=/run/netns/" + h.space}, args...)...)
	command.Env = append(os.Environ(), "DOCKER_HOST=unix://"+h.socket(), "TEND_ROOT="+h.root())
	return command
}

func (h *host) socket() string { return filepath.Join(h.folder, "docker.sock") }

func (h *host) root() string { return filepath.Join(h.disk, "root") }

func (h *host) startEngine() {
	h.lab.Helper()
	config := filepath.Join(h.folder, "daemon.json")
	if err := os.WriteFile(config, []byte("{}"), 0o644); err != nil {
		h.lab.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(h.folder, name) }
	h.engine = start(h.lab.TB, h.inside("dockerd", "--config-file", config, "--host", "unix://"+h.socket(), "--data-root",
		filepath.Join(h.disk, "data"), "--exec-root", at("exec"),
		"--pidfile", at("pid"), "--bridge", "none", "--storage-driver", "vfs"))
	h.lab.Cleanup(func() {
		if containers := h.docker("ps", "--all", "--quiet").output; containers != "" {
			h.docker(append([]string{"rm", "--force", "--volumes"}, strings.Fields(containers)...)...)
		}
		h.engine.end(syscall.SIGTERM)
	})
}

func (h *host) loadImages() {
	h.lab.Helper()
	h.lab.until("the engine of "+h.name+" answers", func() bool { return h.docker("version").err == nil })
	for _, archive := range archives {
		load := h.inside("docker", "load")
		load.Stdin = bytes.NewReader(archive)
		if output, err := load.CombinedOutput(); err != nil {
			h.lab.Fatalf("load an image at %s: %v: %s", h.name, err, output)
		}
	}
}

// said is the output of a command, and its exit.
type said struct {
	output string
	err    error
}

func (h *host) docker(args ...string) said { return h.run(append([]string{"docker"}, args...)...) }

// run runs a command in the host's namespace.
func (h *host) run(args ...string) said {
	output, err := h.inside(args...).CombinedOutput()
	return said{strings.TrimSpace(string(output)), err}
}

// command runs tend, against the host's own server.
func (h *host) command(args ...string) said { return h.run(append([]string{tendBinary}, args...)...) }

func (h *host) must(args ...string) string {
	h.lab.Helper()
	s := h.command(args...)
	if s.err != nil {
		h.lab.Fatalf("tend %s: %v: %s", strings.Join(args, " "), s.err, s.output)
	}
	return s.output
}

// command runs tend, against the server of the first host.
func (l *lab) command(args ...string) said { return l.hosts[0].command(args...) }

func (l *lab) must(args ...string) string {
	l.Helper()
	return l.hosts[0].must(args...)
}

// fast are the flags that shorten the tested times.
var fast = []string{"--node-timeout", "4s", "--heartbeat", "500ms", "--resync", "2s"}

// startServer starts a server with the host's agent in it.
func (h *host) startServer(more ...string) {
	h.lab.Helper()
	args := []string{"server", "--root", h.root(), "--node", h.name, "--name", h.name, "--http", "off",
		"--node-listen", h.address + ":8688"}
	h.start(append(args, more...))
	h.serves = true
	h.lab.until("the server of "+h.name+" is ready", func() bool { return h.command("nodes").err == nil })
}

// startAgent starts an agent, which joins the server of the first host the first time.
func (h *host) startAgent() {
	h.lab.Helper()
	args := []string{"agent", "--root", h.root(), "--node", h.name}
	if _, err := os.Stat(filepath.Join(h.root(), "joined")); err != nil {
		join := []string{"nodes", "add", "--ingress"}
		if h.plain {
			join = join[:2]
		}
		args = append(args, h.lab.joining(join...)...)
	}
	h.start(args)
}

// start starts tend on the host.
func (h *host) start(args []string) {
	h.lab.Helper()
	if h.lab.logs {
		args = append(args, "--ingress-access-log", h.access())
	}
	h.tend = start(h.lab.TB, h.inside(append(append([]string{tendBinary}, args...), h.lab.flags...)...))
	h.lab.Cleanup(func() { h.tend.end(syscall.SIGKILL) })
}

// joining returns the flags with which a machine joins, as a command prints them.
func (l *lab) joining(command ...string) []string {
	l.Helper()
	words := strings.Fields(l.must(command...))
	at := slices.Index(words, "--token")
	if at < 0 || at+1 == len(words) {
		l.Fatalf("%v prints no token: %v", command, words)
	}
	return []string{"--join", l.hosts[0].address + ":8688", "--token", words[at+1]}
}

// until waits for a condition.
func (l *lab) until(what string, holds func() bool) {
	l.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			l.Logf("nodes:\n%s\npods:\n%s\nnetwork:\n%s", l.command("nodes").output,
				l.command("get", "pods", "-o", "wide").output, l.command("describe", "network", "tend0").output)
			for _, h := range l.hosts {
				if h.tend != nil {
					l.Logf("%s says:\n%s", h.name, h.tend.tail())
				}
			}
			l.Fatalf("never: %s", what)
		}
	}
}

// onlyLong runs a step of a story in builds with the tag long. The steps after it don't need it.
func onlyLong(t *testing.T, name string, step func(*testing.T)) {
	t.Helper()
	if whole {
		t.Run(name, step)
	}
}

// in calls do on a thread that is in a namespace.
func in(space string, do func() error) error {
	return within(func() (netns.NsHandle, error) { return netns.GetFromName(space) }, do)
}

// within is in with the namespace that open returns.
func within(open func() (netns.NsHandle, error), do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine: nothing else runs in the namespace
		handle, err := open()
		if err == nil {
			defer handle.Close()
			err = netns.Set(handle)
		}
		if err == nil {
			err = do()
		}
		result <- err
	}()
	return <-result
}

// get requests a URL from inside the host, at an address of its choice.
func (h *host) get(url, address string) (int, error) {
	client := &http.Client{Timeout: 5 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (conn net.Conn, err error) {
				return conn, errors.Join(err, in(h.space, func() error {
					conn, err = net.DialTimeout("tcp", address, 3*time.Second)
					return err
				}))
			}}}
	answer, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
