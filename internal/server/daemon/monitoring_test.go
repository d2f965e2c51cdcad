package daemon

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// metricName finds metrics in rules, dashboards and docs: names with the prefixes of Tend, etcd and the process.
var metricName = regexp.MustCompile(`\b(tend|etcd|process)_[a-z0-9_]+\b`)

// served returns the names that /metrics answers with, in the form in which a query uses them.
func (r *running) served() map[string]bool {
	r.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(r.root, "tend.sock"))
		}}
	answer, err := (&http.Client{Transport: transport}).Get("http://tend/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			out[name] = true
			if kind == "histogram" || kind == "summary" {
				out[name+"_bucket"], out[name+"_sum"], out[name+"_count"] = true, true, true
			}
		}
	}
	return out
}

// described returns the names of the registered metrics, also of those without a series yet.
func described(registry *prometheus.Registry) map[string]bool {
	descs := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(descs)
		close(descs)
	}()
	out := map[string]bool{}
	for desc := range descs {
		if found := fqName.FindStringSubmatch(desc.String()); found != nil {
			for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
				out[found[1]+suffix] = true
			}
		}
	}
	return out
}

var (
	fqName = regexp.MustCompile(`fqName: "([^"]+)"`)
	suffix = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// Every metric that rules, dashboard and docs name is served by a running server, or registered there until it has a
// value; and every metric of Tend's own that it serves is in the docs.
func TestMonitoringNamesWhatAServerServes(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	registry := prometheus.NewRegistry()
	r := m.startWith(func(o *Options) {
		o.Registry, o.Backups = registry, BackupOptions{Schedule: "0 0 1 1 *", To: t.TempDir(), Unencrypted: true}
		o.Ingress.HTTP = "127.0.0.1:0" // opened with the first ingress
	}).ready()
	r.converged(web, r.apply(manifestOf(web, nil)))
	if n := r.metric("tend_events_published_total"); n < 1 {
		t.Errorf("%v events of an apply were published", n)
	}
	served := r.served()
	names := slices.Sorted(maps.Keys(served))
	maps.Copy(served, described(registry))
	text := map[string]string{}
	for _, path := range []string{"deploy/prometheus/tend.rules.yml", "deploy/grafana/tend.json",
		"docs/operate/metrics.md"} {
		bytes, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		text[path] = string(bytes)
		found := metricName.FindAllString(text[path], -1)
		for _, name := range found {
			if !served[name] && !strings.HasSuffix(name, "_") { // a family: tend_http_*
				t.Errorf("%s names %s, which no server serves", path, name)
			}
		}
		if len(found) < 15 {
			t.Errorf("%s names only %v", path, found)
		}
	}
	for _, name := range names {
		if name = suffix.ReplaceAllString(name, ""); strings.HasPrefix(name, "tend_") &&
			!strings.Contains(text["docs/operate/metrics.md"], "`"+name+"`") {
			t.Errorf("docs/operate/metrics.md doesn't list %s", name)
		}
	}
}
