//go:build kube

package link_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// endpoint returns an address that only this process uses.
func endpoint(port int) string {
	return fmt.Sprintf("127.72.%d.%d:%d", os.Getpid()>>8&0xff, os.Getpid()&0xff, port)
}

// TestMetricsAndHealth requests the metrics and health of a running operator over HTTP, before and after its cluster is
// registered and has done a job.
func TestMetricsAndHealth(t *testing.T) {
	w := emptyWorld(t)
	w.metrics, w.health = endpoint(8080), endpoint(8081)
	w.operate()
	w.answers("http://"+w.health+"/healthz", "ok")
	w.answers("http://"+w.health+"/readyz?verbose", "[+]kinds ok", "[+]caches ok")
	w.answers("http://"+w.metrics+"/metrics", `vworkspace_operator_connectivity_state{mode="pull"} -1`)
	w.connect()
	object := web(w.name, w.namespace, 1)
	object.Metadata.Annotations = map[string]string{identity.CapabilityPrefix + "runcommand": "job"}
	w.tend.put(object)
	w.installs()
	w.tend.says("ready", object, isReady(1, "HelmReleaseReady"))
	w.runs()
	w.answers("http://"+w.metrics+"/metrics",
		`vworkspace_operator_connectivity_state{mode="pull"} 1`, `vworkspace_operator_applied_jobs_total{outcome="succeeded",type="apply"} 1`,
		`vworkspace_operator_received_jobs_total{type="apply"} `,
		"\nvworkspace_operator_pull_job_lag_seconds ", "\nvworkspace_operator_event_buffer_occupancy ", "\nvworkspace_operator_credential_age_seconds ",
		`vworkspace_operator_operation_total{engine="job",outcome="Succeeded",type="RunCommand"} 1`,
		"\nvworkspace_operator_managed_namespaces ",
		`controller_runtime_reconcile_total{controller="applicationinstance",result="success"}`,
		`controller_runtime_reconcile_time_seconds_count{controller="operation"}`, `workqueue_depth{`, `rest_client_requests_total{`)
}

// answers waits until a URL answers 200 with all texts.
func (w *world) answers(url string, texts ...string) {
	w.Helper()
	kubetest.Eventually(w, url, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if response.StatusCode != http.StatusOK || !strings.Contains(string(body), text) {
				return fmt.Errorf("%s without %q:\n%.3000s", response.Status, text, body)
			}
		}
		return nil
	})
}
