package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"tend.dev/tend/api"
)

// demo is one run with all it made.
type demo struct {
	tend    string // absolute path of the binary
	runtime string // docker or process
	dir     string // the private state directory
	server  *exec.Cmd
	exited  chan error
	// variants are the two versions that the manifest takes.
	variants [2]variant
}

func newDemo(tend, runtime string) (*demo, error) {
	path, err := filepath.Abs(tend)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s is not built: run `make build` first", tend)
	}
	if runtime == "" {
		runtime = "process"
		if exec.Command("docker", "version").Run() == nil {
			runtime = "docker"
		}
	}
	dir, err := os.MkdirTemp("", "tend-demo-")
	if err != nil {
		return nil, err
	}
	// Plain processes of an unprivileged user read their image below it.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	return &demo{tend: path, runtime: runtime, dir: dir}, nil
}

func (d *demo) root() string { return filepath.Join(d.dir, "state") }

// network is the demo's own platform network.
func (d *demo) network() string { return fmt.Sprintf("tend-demo-%d", os.Getpid()) }

func (d *demo) say(format string, args ...any) {
	fmt.Print(heading(os.Stdout, fmt.Sprintf(format, args...)))
}

// heading returns a line in bold, or plain if the output isn't a terminal.
func heading(out *os.File, text string) string {
	if !term.IsTerminal(int(out.Fd())) {
		return "\n# " + text + "\n"
	}
	return "\n\033[1m# " + text + "\033[0m\n"
}

// startServer starts a private Tend and waits until it answers.
func (d *demo) startServer(ctx context.Context) error {
	d.say("Start a private Tend (runtime %s, state in %s)", d.runtime, d.root())
	log, err := os.Create(filepath.Join(d.dir, "server.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	d.server = exec.Command(d.tend, "dev", "--root", d.root(), "--runtime", d.runtime, "--network", d.network())
	d.server.Stdout, d.server.Stderr = log, log
	d.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for the demo to pass on
	if err := d.server.Start(); err != nil {
		return err
	}
	d.exited = make(chan error, 1)
	go func() { d.exited <- d.server.Wait() }()
	return d.until(ctx, "the server answers", func() bool {
		return d.command("get", "deployments").Run() == nil
	})
}

// command is a call of the CLI against the private server.
func (d *demo) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.tend, args...)
	cmd.Env = append(os.Environ(), "TEND_SERVER=unix://"+filepath.Join(d.root(), "tend.sock"), "TEND_ROOT="+d.root())
	return cmd
}

// show runs a command before the reader's eyes.
func (d *demo) show(ctx context.Context, env string, args ...string) error {
	fmt.Printf("$ %s tend %s\n", env, strings.Join(args, " "))
	cmd := d.command(args...)
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		d.serverLog()
		return fmt.Errorf("tend %s: %w", strings.Join(args, " "), err)
	}
	return ctx.Err()
}

func (d *demo) pods() ([]api.Pod, error) {
	out, err := d.command("get", "pods", "-o", "json").Output()
	if err != nil {
		return nil, err
	}
	var list api.ListResult[api.Pod]
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read the pods: %w", err)
	}
	var live []api.Pod
	for _, pod := range list.Items {
		if pod.Live() {
			live = append(live, pod)
		}
	}
	return live, nil
}

// until waits for a condition, two minutes at most.
func (d *demo) until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case err := <-d.exited:
			d.exited <- err
			d.serverLog()
			return fmt.Errorf("the server ended: %v", err)
		case <-ctx.Done():
			d.serverLog()
			return fmt.Errorf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
	return nil
}

func (d *demo) serverLog() {
	log, _ := os.ReadFile(filepath.Join(d.dir, "server.log"))
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	fmt.Fprintln(os.Stderr, "the server's last lines:")
	fmt.Fprintln(os.Stderr, strings.Join(lines[max(len(lines)-15, 0):], "\n"))
}

func address(pod api.Pod) string {
	for _, port := range pod.Ports {
		if port.HostPort > 0 {
			return "http://127.0.0.1:" + strconv.Itoa(port.HostPort)
		}
	}
	return ""
}
