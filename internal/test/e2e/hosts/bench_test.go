//go:build integration

package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sixPods = `
deployment "prod" "web" {
  image    = "web:1"
  replicas = 6
}
`

// BenchmarkALostHost measures, with real engines, how long after a host was cut off the first of its pods is created
// and runs elsewhere, and all run. The last heartbeat was up to a heartbeat's interval before the cut. Run it with
// -benchtime 1x.
func BenchmarkALostHost(b *testing.B) {
	for name, flags := range map[string][]string{
		"timeout-3s":  {"--node-timeout", "3s", "--heartbeat", "500ms"},
		"timeout-30s": nil, // the defaults
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				measureALostHost(b, flags)
			}
		})
	}
}

func measureALostHost(b *testing.B, flags []string) {
	l := newLab(b, 3)
	l.flags = flags
	observed := l.observe()
	l.hosts[0].startServer()
	for _, h := range l.hosts[1:] {
		h.startAgent()
	}
	l.until("all have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 3 })
	file := filepath.Join(l.folder, "six.hcl")
	if err := os.WriteFile(file, []byte(sixPods), 0o644); err != nil {
		b.Fatal(err)
	}
	l.must("apply", "-f", file)
	lost := l.hosts[1]
	elsewhere := l.count("web", lost)
	cut := time.Now()
	lost.cut(true)
	since := func(action string) (out []float64) { // read from the engines: polling tend would use the measured processors
		for _, is := range observed.all() {
			if is.action == action && is.host != lost.name && is.at > cut.UnixNano() {
				out = append(out, time.Unix(0, is.at).Sub(cut).Seconds())
			}
		}
		return out
	}
	l.until("its pods run elsewhere", func() bool { return len(since("start")) >= 6-elsewhere })
	created, started := since("create"), since("start")
	b.ReportMetric(created[0], "s-first-created")
	b.ReportMetric(started[0], "s-first-runs")
	b.ReportMetric(started[len(started)-1], "s-all-run")
}
