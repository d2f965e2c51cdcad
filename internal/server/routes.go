package server

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxSmallBody bounds every body but an apply's.
const maxSmallBody = 1 << 20

// schemaName names a type in the OpenAPI document; the wrapper huma wants is not shown.
func schemaName(t reflect.Type, hint string) string { return huma.DefaultSchemaNamer(t, hint) }

// routes is every path of the API.
func (s *Server) routes() {
	s.api = newHuma(s.mux, s.Version)

	s.documented("POST", "/v1/apply", "Store manifests (JSON or YAML, one or a list), all or none",
		[]string{"dry_run", "prune", "force", "force_conflicts", "set"}, s.apply)
	s.documented("GET", "/v1/objects/{kind}", "List or, with watch, follow the objects of a kind",
		[]string{"scope", "selector", "watch", "since"}, s.objects)
	typed(s, "GET", "/v1/objects/{kind}/{scope}/{name}", "One object with its status", s.object)
	typed(s, "DELETE", "/v1/objects/{kind}/{scope}/{name}", "Ask that an object go", s.deleteObject)

	typed(s, "POST", "/v1/scale", "Set a deployment's replicas", s.scale)
	typed(s, "POST", "/v1/restart", "Replace every pod, by the deployment's strategy", s.restart)
	typed(s, "POST", "/v1/rollback", "Return to an earlier release", s.rollback)
	typed(s, "POST", "/v1/stop", "Stop all pods of an object; with freeze they stay stopped", s.stopObject)
	typed(s, "POST", "/v1/start", "Let all frozen pods of an object run again", s.startObject)
	typed(s, "GET", "/v1/releases", "The releases kept of an object, newest first", s.releases)

	typed(s, "GET", "/v1/pods", "List pods", s.pods)
	typed(s, "GET", "/v1/pods/{pod}", "One pod", s.pod)
	s.documented("GET", "/v1/pods/{pod}/ready", "200 when the pod is ready, 503 when not", nil, s.podReady)
	s.documented("GET", "/v1/pods/{pod}/logs", "A pod's output, a JSON line each",
		[]string{"follow", "tail", "since"}, s.podLogs)
	s.documented("GET", "/v1/logs", "The output of all pods of an object, a JSON line each",
		[]string{"kind", "scope", "name", "follow", "tail", "since"}, s.logs)
	s.documented("POST", "/v1/pods/{pod}/exec", "Run a command in a pod; upgrades to tend-exec/1", nil, s.exec)
	typed(s, "POST", "/v1/pods/{pod}/stop", "Stop a pod; with freeze it stays stopped", s.stopPod)
	typed(s, "POST", "/v1/pods/{pod}/start", "Let a frozen pod run again", s.startPod)

	typed(s, "GET", "/v1/config", "The keys of a bucket; values are never told", s.configKeys)
	typed(s, "POST", "/v1/config", "Set and remove keys of a bucket", s.setConfig)
	typed(s, "GET", "/v1/nodes", "List nodes", s.nodes)
	typed(s, "GET", "/v1/stats", "One sample of the pods' use", s.stats)

	s.documented("GET", "/healthz", "200 while the process answers", nil, s.healthz)
	s.documented("GET", "/readyz", "200 once the server is ready; 503 says what is missing", nil, s.readyz)
	s.documented("GET", "/version", "What the server is", nil, func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, s.version())
	})
	metrics := promhttp.HandlerFor(prometheus.Gatherers{s.Registry, s.Gather}, promhttp.HandlerOpts{})
	s.documented("GET", "/metrics", "Prometheus metrics", nil, metrics.ServeHTTP)
}
