//go:build kube

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/internal/operator/kubetest"
)

// TestWritesPerInstance: an operator of its own process writes each child once, and the status of an instance twice at
// most, with four Events, until the instance is ready. Flux reports once here: each of its reports may change a
// condition.
func TestWritesPerInstance(t *testing.T) {
	const count = 20
	w := newWorld(t)
	w.create(count, "helm")
	w.operate(buildOperator(t), "first")
	w.converge(count)
	writes := w.writes("first")
	for kind, most := range map[string]int{
		"patch helmreleases": 1, "patch helmrepositories": 1, "patch applicationinstances": 1,
		"patch applicationinstances/status": 2, "create events": 4,
	} {
		if n := writes[kind]; n == 0 || n > most*count {
			t.Errorf("%s: %d writes for %d instances, want at most %d each", kind, n, count, most)
		}
	}
}

// BenchmarkInstances makes the operator converge 1,000 instances, and then reconcile each again without a write.
func BenchmarkInstances(b *testing.B) {
	const count = 1000
	binary := buildOperator(b)
	for b.Loop() {
		w := newWorld(b)
		w.create(count, "oci")
		began := time.Now()
		first := w.operate(binary, "first")
		w.converge(count)
		b.ReportMetric(time.Since(began).Seconds(), "s/convergence")
		writes := w.writes("first")
		for _, kind := range slices.Sorted(maps.Keys(writes)) {
			b.ReportMetric(float64(writes[kind])/count, strings.ReplaceAll(kind, " ", "-")+"/instance")
		}
		peak, _ := first.memory()
		b.ReportMetric(peak, "MB-peak")
		first.stop()
		second := w.operate(binary, "second")
		start, idle := second.reconciles(count), usageOf(b, second.command.Process.Pid)
		w.touch(count)
		end, busy := second.reconciles(2*count), usageOf(b, second.command.Process.Pid)
		b.ReportMetric(1000*quantile(0.99, start, end), "ms-p99-unchanged")
		used, passed := busy.process-idle.process, busy.at.Sub(idle.at)
		b.ReportMetric(1000*used.Seconds()/(end["+Inf"]-start["+Inf"]), "ms-cpu/unchanged")
		b.ReportMetric(100*used.Seconds()/passed.Seconds(), "%-of-a-cpu-unchanged")
		b.ReportMetric(100*(busy.machine-idle.machine).Seconds()/passed.Seconds()/float64(runtime.NumCPU()), "%-machine-busy")
		b.ReportMetric(float64(len(w.writes("second"))), "kinds-of-writes-unchanged")
		for _, bound := range []string{"0.005", "0.01", "0.025"} {
			b.ReportMetric(100*(end[bound]-start[bound])/(end["+Inf"]-start["+Inf"]), "%-within-"+bound+"s")
		}
		peak, now := second.memory()
		b.ReportMetric(peak, "MB-peak-restarted")
		b.ReportMetric(now, "MB-restarted")
		second.stop()
	}
}

func buildOperator(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "tend-operator")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return binary
}

// process is a running operator.
type process struct {
	testing.TB
	command *exec.Cmd
	metrics string
	log     *bytes.Buffer
	ended   atomic.Bool
}

// operate starts an operator as a process of its own, whose user agent identifies its writes.
func (w *world) operate(binary, name string, more ...string) *process {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	p := &process{TB: w.TB, metrics: listener.Addr().String(), log: &bytes.Buffer{}}
	_ = listener.Close()
	p.command = exec.CommandContext(context.Background(), binary,
		append([]string{"--namespace", w.namespace, "--cluster-id", "berlin",
			"--agent-enabled=false", "--health-probe-bind-address", "0", "--metrics-bind-address", p.metrics}, more...)...)
	p.command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig(name))
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(p.stop)
	return p
}

// kubeconfig writes the connection of a user of that name, whose writes the audit log tells apart.
func (w *world) kubeconfig(name string) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), name+".kubeconfig")
	if err := w.server.WriteKubeconfig(path, name); err != nil {
		w.Fatal(err)
	}
	return path
}

func (p *process) stop() {
	if p.ended.Swap(true) {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	if err := p.command.Wait(); err != nil {
		p.Errorf("the operator ended: %v\n%s", err, p.log.Bytes()[max(0, p.log.Len()-4000):])
	}
}

var memoryLine = regexp.MustCompile(`(?m)^(VmHWM|VmRSS):\s+(\d+) kB$`)

// memory returns the resident memory at its peak and now, in MB.
func (p *process) memory() (peak, now float64) {
	p.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	for _, found := range memoryLine.FindAllStringSubmatch(string(text), -1) {
		var kb float64
		_, _ = fmt.Sscan(found[2], &kb)
		if found[1] == "VmHWM" {
			peak = kb / 1000
		} else {
			now = kb / 1000
		}
	}
	return peak, now
}

// reconciles waits until the operator has reconciled instances as often, and returns how many reconciles took no longer
// than each bound, in seconds.
func (p *process) reconciles(count float64) (took map[string]float64) {
	p.Helper()
	kubetest.Eventually(p, "reconciles", func(ctx context.Context) (err error) {
		if took, err = p.histogram(ctx); err == nil && took["+Inf"] < count {
			err = fmt.Errorf("%v of %v", took["+Inf"], count)
		}
		return err
	})
	return took
}

var bucketLine = regexp.MustCompile(`^controller_runtime_reconcile_time_seconds_bucket{controller="applicationinstance",le="([^"]+)"} (\d+)$`)

// histogram returns how many reconciles of instances took no longer than each bound.
func (p *process) histogram(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	took := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if found := bucketLine.FindStringSubmatch(lines.Text()); found != nil {
			if took[found[1]], err = strconv.ParseFloat(found[2], 64); err != nil {
				return nil, err
			}
		}
	}
	return took, lines.Err()
}
