package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"
)

// nodeTimeout is the time for which a node may be silent here: the default is 30 s.
const nodeTimeout = 4 * time.Second

// cluster is one run with all that it made.
type cluster struct {
	tend      string // absolute path of the binary
	dir       string
	processes map[string]*exec.Cmd // by name: those that run

	stop     context.CancelFunc // ends the requests
	requests sync.WaitGroup
	answered atomic.Int64
	failed   atomic.Int64
}

func newCluster(tend string) (*cluster, error) {
	path, err := filepath.Abs(tend)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s is not built: run `make build` first", tend)
	}
	dir, err := os.MkdirTemp("", "tend-cluster-")
	if err != nil {
		return nil, err
	}
	// Plain processes of an unprivileged user read their image below it.
	return &cluster{tend: path, dir: dir, processes: map[string]*exec.Cmd{}}, os.Chmod(dir, 0o711)
}

func (*cluster) server(i int) string { return "server-" + strconv.Itoa(i+1) }
func (*cluster) node(i int) string   { return "node-" + strconv.Itoa(i+1) }

// address returns a loopback address that only this run uses.
func address(i, port int) string { return fmt.Sprintf("127.71.%d.%d:%d", os.Getpid()&0xff, i+1, port) }

func say(format string, args ...any) { fmt.Print(heading(os.Stdout, fmt.Sprintf(format, args...))) }

// heading returns a line in bold, or plain if the output isn't a terminal.
func heading(out *os.File, text string) string {
	if !term.IsTerminal(int(out.Fd())) {
		return "\n# " + text + "\n"
	}
	return "\n\033[1m# " + text + "\033[0m\n"
}

func (c *cluster) root(name string) string { return filepath.Join(c.dir, name) }

// start starts a server or an agent in a root of its own; its log lies beside it.
func (c *cluster) start(name string, args ...string) error {
	log, err := os.Create(c.root(name) + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	args = append(args, "--root", c.root(name), "--node-timeout", nodeTimeout.String(), "--heartbeat", "1s",
		"--ingress-https", "off")
	if args[0] == "server" {
		args = append(args, "--ingress-http", "off")
	}
	fmt.Printf("$ tend %s …\n", strings.Join(args[:min(len(args), 5)], " "))
	command := exec.Command(c.tend, args...)
	command.Stdout, command.Stderr, command.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return err
	}
	c.processes[name] = command
	return nil
}

// tendOn is a command that asks one of the servers.
func (c *cluster) tendOn(server int, args ...string) *exec.Cmd {
	command := exec.Command(c.tend, args...)
	command.Env = append(os.Environ(), "TEND_SERVER=unix://"+filepath.Join(c.root(c.server(server)), "tend.sock"),
		"HELLO_FOLDER="+c.root("hello"))
	return command
}

// show runs a command before the reader's eyes.
func (c *cluster) show(server int, args ...string) error {
	fmt.Printf("$ tend %s\n", strings.Join(args, " "))
	command := c.tendOn(server, args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("tend %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// until waits for a condition, two minutes at most.
func (c *cluster) until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s; the logs are in %s", what, c.dir)
		case <-tick.C:
		}
	}
	return nil
}

// ask sends a request to the proxy of the first node.
func (c *cluster) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address(10, 8080)+"/", nil)
	if err != nil {
		return err
	}
	request.Host = "hello.example"
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the answer is %s", answer.Status), err)
	}
	return nil
}

// sendRequests sends a request every 10 ms until the end.
func (c *cluster) sendRequests(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	c.requests.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			switch err := c.ask(ctx); {
			case ctx.Err() != nil:
			case err != nil:
				c.failed.Add(1)
				fmt.Println("a request failed:", err)
			default:
				c.answered.Add(1)
			}
		}
	})
}

// verdict ends the requests, and says what has become of them.
func (c *cluster) verdict() error {
	c.stop()
	c.requests.Wait()
	say("%d requests were answered through all of it, %d failed", c.answered.Load(), c.failed.Load())
	if c.failed.Load() > 0 {
		return errors.New("requests failed")
	}
	return nil
}

// kill ends a server or a node with everything that runs below its root, without a word.
func (c *cluster) kill(name string) error {
	command := c.processes[name]
	delete(c.processes, name)
	_ = command.Process.Kill()
	_ = command.Wait()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		program, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "exe"))
		words, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if below := c.root(name) + "/"; strings.HasPrefix(program, below) || strings.Contains(string(words), below) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return nil
}

// cleanUp ends what still runs, and removes the folder unless its logs are to be read.
func (c *cluster) cleanUp(remove bool) error {
	if c.stop != nil {
		c.stop()
		c.requests.Wait()
	}
	var faults []error
	for name := range c.processes {
		faults = append(faults, c.kill(name))
	}
	if remove {
		faults = append(faults, os.RemoveAll(c.dir))
	}
	return errors.Join(faults...)
}
