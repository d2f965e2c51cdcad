package otlpcheck

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var tend = flag.String("tend", "", "the binary to test")

const patience = time.Minute

const manifest = `
deployment "prod" "web" {
  replicas = 2
  image    = "IMAGE"
  command  = ["/bin/sleep", "600"]
}
`

// caller is the parent span of the command, as a CI pipeline passes it by TRACEPARENT.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
)

// The way from the command through the server's reconciles to the processes that the agent starts is one trace, whether
// the agent is part of the server or a separate process. The whole trace is exported once everything has ended.
func TestOneTraceFromApplyToTheContainersStart(t *testing.T) {
	for name, apart := range map[string]bool{"agent in the server": false, "agent of its own": true} {
		t.Run(name, func(t *testing.T) {
			r := listen(t)
			m := start(t, r.url, apart)
			m.run("apply", "-f", m.file, "--timeout", patience.String())
			m.run("delete", "deployment", "prod/web", "--yes")
			m.until("the pods are gone", func() bool { return !strings.Contains(m.run("get", "pods"), "prod-web") })
			m.stop()

			agent := "tend-server"
			if apart {
				agent = "tend-agent"
			}
			const apply = callerSpan + " > tend-server/POST /v1/apply"
			const deployment = apply + " > tend-server/reconcile deployment"
			all, got := r.spans(), map[string]int{}
			for _, s := range all {
				got[path(all, s)]++
				if strings.HasPrefix(path(all, s), callerSpan) && s.TraceID().String() != callerTrace {
					t.Errorf("%s is of the trace %s", s.Name(), s.TraceID())
				}
			}
			wants := []string{
				apply, apply + " > tend-server/store.commit apply", deployment,
				deployment + " > " + agent + "/reconcile task > " + agent + "/runtime.create",
				deployment + " > " + agent + "/reconcile task > " + agent + "/runtime.start",
			}
			if apart { // the agent requests the release from the server, as part of the trace
				wants = append(wants, deployment+" > "+agent+"/reconcile task > tend-server/node POST release")
			}
			for _, want := range wants {
				if got[want] == 0 || strings.Contains(want, "runtime.") && got[want] != 2 {
					t.Errorf("%d times %s", got[want], want)
				}
			}
			if len(all) > 200 {
				t.Errorf("%d spans of one apply and one delete: some work has spans that did nothing", len(all))
			}
			if t.Failed() {
				t.Logf("the spans:\n  %s", strings.Join(slices.Sorted(maps.Keys(got)), "\n  "))
			}
		})
	}
}

// machine is a server, and its agent if that is a separate process.
type machine struct {
	*testing.T
	root, file string
	running    []*exec.Cmd
	log        *lines
}

func start(t *testing.T, endpoint string, apart bool) *machine {
	t.Helper()
	root, err := os.MkdirTemp("", "otlp") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{T: t, root: root, file: filepath.Join(root, "web.hcl"), log: &lines{}}
	t.Cleanup(m.clean)
	image := filepath.Join(root, "image")
	text := strings.Replace(manifest, "IMAGE", image, 1)
	for _, err := range []error{os.Chmod(root, 0o755), os.Mkdir(image, 0o755), os.WriteFile(m.file, []byte(text), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"server", "--root", filepath.Join(root, "s"), "--runtime", "process", "--http", "off",
		"--otlp-endpoint", endpoint,
		"--ingress-http", "off", "--ingress-https", "off", "--callback-port", "0"}
	if apart {
		args = append(args, "--no-agent", "--node-listen", free(t))
	}
	m.spawn(nil, args...)
	m.until("the server is ready",
		func() bool { return exec.Command(*tend, "get", "pods", "--server", m.server()).Run() == nil })
	if apart {
		join := regexp.MustCompile(`--join (\S+) --token (\S+)`).FindStringSubmatch(m.run("nodes", "add"))
		if join == nil {
			t.Fatal("tend nodes add prints no command")
		}
		// OpenTelemetry's own variable sets the endpoint if the flag is left out.
		m.spawn([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint}, "agent", "--root", filepath.Join(root, "a"),
			"--runtime", "process",
			"--ingress-http", "off", "--ingress-https", "off", "--callback-port", "0", "--join", join[1], "--token", join[2])
		m.until("the node is ready", func() bool { return strings.Contains(m.run("get", "nodes"), "ready") })
	}
	return m
}

func (m *machine) server() string { return "unix://" + filepath.Join(m.root, "s", "tend.sock") }

func (m *machine) spawn(env []string, args ...string) {
	m.Helper()
	command := exec.Command(*tend, args...)
	command.Env = append(os.Environ(), env...)
	command.Stdout, command.Stderr = m.log, m.log
	if err := command.Start(); err != nil {
		m.Fatal(err)
	}
	m.running = append(m.running, command)
}

// run runs a command within the caller's span and returns its output.
func (m *machine) run(args ...string) string {
	m.Helper()
	command := exec.Command(*tend, args...)
	command.Env = append(os.Environ(), "TEND_SERVER="+m.server(), "TRACEPARENT=00-"+callerTrace+"-"+callerSpan+"-01")
	out, err := command.CombinedOutput()
	if err != nil {
		m.Fatalf("tend %s: %v\n%s\n%s", strings.Join(args, " "), err, out, m.log)
	}
	return string(out)
}

func (m *machine) until(what string, holds func() bool) {
	m.Helper()
	deadline, tick := time.After(patience), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			m.Fatalf("in vain: %s\n%s", what, m.log)
		}
	}
}

// stop ends the agent and the server, which export the remaining spans.
func (m *machine) stop() {
	m.Helper()
	for _, command := range slices.Backward(m.running) {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			m.Errorf("%v\n%s", err, m.log)
		}
	}
	m.running = nil
}

// clean ends the processes that a failed test left.
func (m *machine) clean() {
	for _, command := range m.running {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	_ = os.RemoveAll(m.root)
}

// lines is output that may be written and read at once.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}
