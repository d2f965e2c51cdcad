package promcheck

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const rulesFile = "../../deploy/prometheus/tend.rules.yml"

// every is the interval of scrapes and evaluations.
const every = 30 * time.Second

var parsing = parser.NewParser(parser.Options{})

// alerting is an alert with series that make it fire, and similar series that must not. All have 121 samples: an hour.
type alerting struct {
	fires, quiet string
	// summary is a part of the alert's summary.
	summary string
}

// alerts has every alert of the rules.
var alerts = map[string]alerting{
	"TendRestingKeys": {
		`tend_resting_keys{kind="deployment",instance="a"} 0x90 2x30`,
		`tend_resting_keys{kind="deployment",instance="a"} 0x110 2x10`, // for less than 10 minutes
		"2 deployment keys"},
	"TendPanics": {
		`tend_recovered_panics_total{instance="a"} 0x60 1x60`,
		`tend_recovered_panics_total{instance="a"} 1x120`, // long ago
		"a recovered from a panic"},
	"TendQueueStuck": {
		`tend_queue_oldest_seconds{kind="job",instance="a"} 0x80 70+30x40`,
		`tend_queue_oldest_seconds{kind="job",instance="a"} 50x120`,
		"a job key"},
	"TendReconcilesFail": {
		"tend_reconciliations_total{kind=\"job\"} 0+10x120\ntend_reconciliations_failed_total{kind=\"job\"} 0+3x120",
		"tend_reconciliations_total{kind=\"job\"} 0+10x120\ntend_reconciliations_failed_total{kind=\"job\"} 0+1x120",
		"30% of the job reconciles"},
	"TendViewLags": {
		`tend_view_lag_seconds{instance="a"} 0x100 15+30x20`,
		`tend_view_lag_seconds{instance="a"} 0 30 0 30 0x117`,
		"a sees its own commits"},
	"TendStoreSlow": {
		`tend_store_request_duration_seconds_bucket{instance="a",operation="commit",le="0.5"} 0+5x120
		 tend_store_request_duration_seconds_bucket{instance="a",operation="commit",le="3"} 0+10x120
		 tend_store_request_duration_seconds_bucket{instance="a",operation="commit",le="+Inf"} 0+10x120`,
		`tend_store_request_duration_seconds_bucket{instance="a",operation="commit",le="0.5"} 0+10x120
		 tend_store_request_duration_seconds_bucket{instance="a",operation="commit",le="3"} 0+10x120
		 tend_store_request_duration_seconds_bucket{instance="a",operation="commit",le="+Inf"} 0+10x120
		 tend_store_request_duration_seconds_bucket{instance="a",operation="list",le="0.5"} 0x120
		 tend_store_request_duration_seconds_bucket{instance="a",operation="list",le="+Inf"} 0+10x120`,
		"1 of 100 commits on a"},
	"TendStoreUnanswered": {
		`tend_store_request_errors_total{instance="a",operation="commit",error="unknown_outcome"} 0+1x120`,
		`tend_store_request_errors_total{instance="a",operation="commit",error="conflict"} 0+5x120`,
		"commits on a"},
	"TendStoreNearlyFull": {
		"etcd_mvcc_db_total_size_in_use_in_bytes{instance=\"a\"} 900x120\netcd_server_quota_backend_bytes{instance=\"a\"} 1000x120",
		"etcd_mvcc_db_total_size_in_use_in_bytes{instance=\"a\"} 700x120\netcd_server_quota_backend_bytes{instance=\"a\"} 1000x120",
		"uses 90%"},
	"TendRuntimeUnavailable": {
		`tend_runtime_request_errors_total{instance="a",operation="list",error="unavailable"} 0+1x120`,
		`tend_runtime_request_errors_total{instance="a",operation="pull",error="rejected"} 0+1x120`,
		"the container runtime on a"},
	"TendNodeDown": {
		"tend_nodes{instance=\"a\",state=\"down\",availability=\"active\"} 0x100 1x20\ntend_nodes{instance=\"b\",state=\"down\",availability=\"active\"} 0x100 1x20",
		"tend_nodes{instance=\"a\",state=\"down\",availability=\"active\"} 0x120\ntend_nodes{instance=\"a\",state=\"ready\",availability=\"active\"} 3x120",
		"1 active nodes are down"}, // two servers report the same node
	"TendRolloutPaused": {
		`tend_rollouts{kind="deployment",phase="paused"} 0x60 1x60`,
		`tend_rollouts{kind="deployment",phase="progressing"} 1x120`,
		"1 objects of kind deployment"},
	"TendPodsNotReady": {
		"tend_pods{kind=\"deployment\",state=\"running\"} 5x120\ntend_pods_ready{kind=\"deployment\"} 3x120",
		"tend_pods{kind=\"deployment\",state=\"running\"} 5x120\ntend_pods{kind=\"deployment\",state=\"failed\"} 2x120\ntend_pods_ready{kind=\"deployment\"} 5x120",
		"2 pods of kind deployment"},
	"TendIngressErrors": {
		"tend_ingress_requests_total{ingress=\"prod/web\",code=\"200\"} 0+90x120\ntend_ingress_requests_total{ingress=\"prod/web\",code=\"502\"} 0+10x120",
		"tend_ingress_requests_total{ingress=\"prod/web\",code=\"200\"} 0+90x120\ntend_ingress_requests_total{ingress=\"prod/web\",code=\"404\"} 0+10x120",
		"10% of the answers of prod/web"},
	"TendBackupTooOld": {
		`tend_backup_last_success_timestamp_seconds -90000x120`,
		`tend_backup_last_success_timestamp_seconds -80000x120`,
		"1d 2h"},
}

func TestAlertsFireWhenTheyShouldAndOnlyThen(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range load(t, nil).Rules() {
		seen[rule.Name()] = true
		if alerts[rule.Name()].fires == "" {
			t.Errorf("no test says what makes %s fire", rule.Name())
		}
	}
	for name, alert := range alerts {
		if !seen[name] {
			t.Errorf("the rules have no %s", name)
		}
		t.Run(name, func(t *testing.T) {
			if got := firing(t, alert.quiet); len(got[name]) > 0 {
				t.Errorf("it fires without need: %v", got[name])
			}
			got := firing(t, alert.fires)
			if len(got[name]) != 1 {
				t.Fatalf("%d alerts fire, want one: %v", len(got[name]), got)
			}
			summary := got[name][0].Annotations.Get("summary")
			if !strings.Contains(summary, alert.summary) || strings.Contains(summary, "error expanding") {
				t.Errorf("its summary is %q, want it to contain %q", summary, alert.summary)
			}
			for _, needed := range []string{"next", "summary"} {
				if got[name][0].Annotations.Get(needed) == "" {
					t.Errorf("it has no annotation %s", needed)
				}
			}
			if severity := got[name][0].Labels.Get("severity"); severity != "page" && severity != "ticket" {
				t.Errorf("its severity is %q", severity)
			}
		})
	}
}

// firing returns the alerts that fire after an hour of series, by name.
func firing(t *testing.T, series string) map[string][]*rules.Alert {
	t.Helper()
	group := load(t, &series)
	for at := time.Duration(0); at <= 120*every; at += every {
		group.Eval(context.Background(), time.Unix(0, 0).Add(at))
	}
	out := map[string][]*rules.Alert{}
	for _, rule := range group.AlertingRules() {
		if err := rule.LastError(); err != nil {
			t.Errorf("%s: %v", rule.Name(), err)
		}
		for _, alert := range rule.ActiveAlerts() {
			if alert.State == rules.StateFiring {
				out[rule.Name()] = append(out[rule.Name()], alert)
			}
		}
	}
	return out
}

// load reads the rules, over series in promtool's notation.
func load(t *testing.T, series *string) *rules.Group {
	t.Helper()
	text := ""
	if series != nil {
		text = "load " + every.String() + "\n"
		for line := range strings.Lines(*series) {
			text += "  " + strings.TrimSpace(line) + "\n"
		}
	}
	storage := promqltest.LoadedStorage(t, text)
	t.Cleanup(func() { _ = storage.Close() })
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(engine, storage), Queryable: storage, AppendableV2: storage,
		Context:    context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: slog.New(slog.DiscardHandler),
		ExternalURL:          &url.URL{},
		NameValidationScheme: model.UTF8Validation, Parser: parsing,
	})
	groups, errs := manager.LoadGroups(every, labels.EmptyLabels(), "", nil, false, rulesFile)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, group := range groups {
		return group // there is one
	}
	t.Fatal("the file has no group")
	return nil
}
