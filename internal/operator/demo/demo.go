package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"tend.dev/tend/internal/operator/kubetest"
)

const operatorNamespace = "vworkspace-system"

// manifest is the manifest that the demo applies.
const manifest = `applicationinstance "shop" "web" {
  cluster = "demo"

  app_ref { catalog_id = "web" }
  chart {
    source_type = "oci"
    url         = "oci://registry.example.org/charts"
    name        = "web"
    version     = "1.2.3"
  }
  release { name = "web" }
  values {
    source = "inline"
    inline = { replicaCount = 2 }
  }
}
`

// demo is one run, with everything it made.
type demo struct {
	tend, operator string // absolute paths of the binaries
	dir, listen    string
	processes      []*exec.Cmd // in the order of their start
	kubernetes     *kubetest.Server
}

func newDemo(tend, operator string) (*demo, error) {
	d := &demo{listen: fmt.Sprintf("127.73.%d.%d:8688", os.Getpid()>>8&0xff, os.Getpid()&0xff)}
	for binary, path := range map[string]*string{tend: &d.tend, operator: &d.operator} {
		absolute, err := filepath.Abs(binary)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(absolute); err != nil {
			return nil, fmt.Errorf("%s is not built: run `make demo-kube`", binary)
		}
		*path = absolute
	}
	var err error
	d.dir, err = os.MkdirTemp("", "tend-kube-")
	return d, err
}

func say(format string, args ...any) { fmt.Print(heading(os.Stdout, fmt.Sprintf(format, args...))) }

// heading returns a line in bold, or plain if the output is not a terminal.
func heading(out *os.File, text string) string {
	if !term.IsTerminal(int(out.Fd())) {
		return "\n# " + text + "\n"
	}
	return "\n\033[1m# " + text + "\033[0m\n"
}

func (d *demo) root(name string) string { return filepath.Join(d.dir, name) }

// start starts a process, whose log is in the run's folder.
func (d *demo) start(name, binary string, environment []string, args ...string) error {
	log, err := os.Create(d.root(name) + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Printf("$ %s %s\n", filepath.Base(binary), strings.Join(args, " "))
	command := exec.CommandContext(context.Background(), binary, args...) // cleanUp ends it, in order
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr, command.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return err
	}
	d.processes = append(d.processes, command)
	return nil
}

// tendCommand returns a command that connects to the server.
func (d *demo) tendCommand(args ...string) *exec.Cmd {
	command := exec.CommandContext(context.Background(), d.tend, args...)
	command.Env = append(os.Environ(), "TEND_SERVER=unix://"+filepath.Join(d.root("server"), "tend.sock"))
	return command
}

// show runs a command and shows its output.
func (d *demo) show(args ...string) error {
	fmt.Printf("$ tend %s\n", strings.Join(args, " "))
	command := d.tendCommand(args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("tend %s: %w; the logs are in %s", args[0], err, d.dir)
	}
	return nil
}

// connected reports whether Tend hears from the operator.
func (d *demo) connected(context.Context) bool {
	out, err := d.tendCommand("clusters").Output()
	return err == nil && strings.Contains(string(out), "Connected")
}

// until waits for a condition, for at most two minutes.
func (d *demo) until(ctx context.Context, what string, holds func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("timed out waiting until %s; the logs are in %s", what, d.dir)
		case <-tick.C:
		}
	}
	return nil
}

// cleanUp ends the started processes, last first, and removes the folder unless its logs are needed.
func (d *demo) cleanUp(remove bool) error {
	var faults []error
	for i := len(d.processes) - 1; i >= 0; i-- {
		_ = d.processes[i].Process.Signal(syscall.SIGTERM)
		ended := make(chan struct{})
		go func() { _ = d.processes[i].Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = d.processes[i].Process.Kill()
			<-ended
		}
	}
	if d.kubernetes != nil {
		faults = append(faults, d.kubernetes.Stop())
	}
	if remove {
		faults = append(faults, os.RemoveAll(d.dir))
	}
	return errors.Join(faults...)
}
