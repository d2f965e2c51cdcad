package server

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
)

// maxSmallBody bounds every body but an apply's.
const maxSmallBody = 1 << 20

// schemaName names a type in the OpenAPI document, without the wrapper that huma requires.
func schemaName(t reflect.Type, hint string) string { return huma.DefaultSchemaNamer(t, hint) }

// followRoutes registers the paths by which clients follow the cluster.
func (s *Server) followRoutes() {
	s.documented("GET", "/v1/events",
		"Follow what happens to objects as CloudEvents, a JSON line or a server-sent event each; with follow=0 a bounded list",
		s.follows(), s.readEvents)
	s.documented("GET", "/v1/audit",
		"Follow the calls that may change something, and how they were answered, in the same forms",
		s.follows(), s.readAudit)

	typed(s, "POST", "/v1/await",
		"The outcome of writes; with since the answer comes when something has changed, after 25 s at the latest",
		s.await)
}

// routes registers every path of the API.
func (s *Server) routes() {
	s.api = newHuma(checkedMux{s}, s.Version)

	s.documented("POST", "/v1/apply", "Store manifests (JSON or YAML, one or a list), all or none",
		shape{query: queryOfTexts("dry_run?", "prune?", "force?", "force_conflicts?", "set"), takes: s.manifests(),
			answers: replies("what was stored, and what will be done", inJSON[api.ApplyResult](s))}, s.apply)
	s.documented("GET", "/v1/objects/{kind}", "List or, with watch, follow the objects of a kind",
		shape{query: queryOfTexts("scope", "selector", "watch?", "since#"),
			answers: replies("a list, or with watch a line for each change, with the revision that since takes",
				map[string]*huma.Schema{"application/json": of[api.ListResult[api.Object]](s), jsonLines: of[api.WatchEvent](s)})},
		s.objects)
	typed(s, "GET", "/v1/objects/{kind}/{scope}/{name}", "One object with its status", s.object)
	typed(s, "DELETE", "/v1/objects/{kind}/{scope}/{name}", "Request the deletion of an object", s.deleteObject)

	s.verbRoutes()
	s.followRoutes()
	typed(s, "POST", "/v1/resume", "End the pause after an older store was restored", s.resume)
	typed(s, "GET", "/v1/backup", "The results of scheduled backups", s.backupStatus)
	s.documented("POST", "/v1/backup",
		"A backup of the cluster, unencrypted and with its keys: anyone who has it controls the cluster",
		shape{answers: replies("a tar, compressed", raw(zstdBytes))}, s.backup)
	typed(s, "GET", "/v1/releases", "The releases kept of an object, newest first", s.releases)
	typed(s, "GET", "/v1/deliveries", "The webhook calls kept of an object, newest first", s.deliveries)

	s.podRoutes()

	s.runRoutes()

	typed(s, "GET", "/v1/config",
		"The keys of a bucket, and of a scope's the apps that have keys; with key that one's value, and who asked is logged",
		s.config)
	typed(s, "POST", "/v1/config",
		"Set and remove keys of a bucket; with restart=false nothing that runs is replaced", s.setConfig)
	s.documented("GET", "/v1/ingress/ca", "The certificate of the cluster's own authority, in PEM",
		shape{answers: replies("one certificate", raw(pemText))}, s.authority)
	s.blobRoutes()
	s.pluginRoutes()
	s.documented("GET", "/v1/builds/{scope}/{name}/{id}/log", "What a build prints, a JSON line each",
		shape{query: queryOfTexts("follow?"), answers: replies("a line of JSON for each line of output", eachLine[api.BuildLine](s))},
		s.buildLog)
	s.nodeRoutes()
	s.tokenRoutes()
	typed(s, "GET", "/v1/stats", "One sample of the pods' use", s.stats)
	s.ownRoutes()
}

func (s *Server) blobRoutes() {
	s.documented("PUT", "/v1/blobs/{digest}", "Keep a file's bytes, which an asset will refer to by their digest",
		shape{takes: raw(fileBytes),
			answers: map[int]reply{http.StatusNoContent: {text: "they are kept"}}}, s.blob(s.putBlob))
	s.documented("GET", "/v1/blobs/{digest}", "A file's bytes",
		shape{answers: replies("the bytes", raw(fileBytes))}, s.blob(s.getBlob))
	s.documented("HEAD", "/v1/blobs/{digest}", "Whether a file's bytes are here; 404 when not",
		shape{answers: replies("they are here", nil)}, s.blob(s.getBlob))
}

// ownRoutes registers the routes about the server itself.
func (s *Server) ownRoutes() {
	s.documented("GET", "/healthz", "200 while the process answers",
		shape{answers: replies("it answers", inJSON[api.Health](s))}, s.healthz)
	s.documented("GET", "/readyz", "200 once the server is ready; 503 says what is missing", shape{answers: map[int]reply{
		http.StatusOK:                 {"it is ready", inJSON[api.Readiness](s)},
		http.StatusServiceUnavailable: {"what is missing", inJSON[api.Readiness](s)},
	}}, s.readyz)
	s.documented("GET", "/version", "The version of the server", shape{answers: replies("its version", inJSON[api.Version](s))},
		func(w http.ResponseWriter, r *http.Request) {
			writeJSON(w, http.StatusOK, s.version())
		})
	s.documented("GET", "/metrics", "Prometheus metrics",
		shape{answers: replies("the text format", raw(plainText))}, func(w http.ResponseWriter, r *http.Request) {
			promhttp.HandlerFor(prometheus.Gatherers{s.Registry, s.Gather}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
		})
}

// follows describes the two operations that follow events.
func (s *Server) follows() shape {
	return shape{query: queryOfTexts("since", "kind", "scope", "name", "type", "actor", "limit#", "last?", "follow?"),
		answers: replies("an event each line, or with follow=0 a page", map[string]*huma.Schema{
			"application/json": of[api.EventPage](s), jsonLines: of[api.Event](s), "text/event-stream": {Type: huma.TypeString},
		})}
}

func (s *Server) runRoutes() {
	typed(s, "GET", "/v1/runs", "The runs kept, newest first: of an object, a scope, or all", s.runs)
	typed(s, "GET", "/v1/runs/{kind}/{scope}/{name}/{id}",
		"One run; with wait the answer comes when it has ended, after 25 s at the latest", s.run)
}

func (s *Server) nodeRoutes() {
	typed(s, "GET", "/v1/nodes", "List nodes", s.nodes)
	typed(s, "GET", "/v1/system/disk", "List the nodes' disk usage, and the images that nothing refers to", s.disks)
	typed(s, "POST", "/v1/system/prune",
		"Remove the images that nothing refers to from all nodes; with dry_run only list them", s.prune)
	typed(s, "GET", "/v1/nodes/tokens", "List the tokens with which machines join", s.joinTokens)
	typed(s, "POST", "/v1/nodes/tokens", "Make a token with which machines join as nodes or servers", s.join)
	typed(s, "DELETE", "/v1/nodes/tokens/{id}", "Revoke a token: nothing joins with it any more", s.revokeToken)
	typed(s, "DELETE", "/v1/nodes/{node}",
		"Take a silent node out of the cluster; with force also one that answers", s.removeNode)
	typed(s, "POST", "/v1/rebalance",
		"Move pods of deployments so that the nodes are level; with dry_run only plan it", s.rebalance)
	typed(s, "GET", "/v1/servers", "List the servers that hold the store", s.servers)
	typed(s, "DELETE", "/v1/servers/{name}", "Take a server out of the cluster", s.removeServer)
	typed(s, "GET", "/v1/keys", "List the cluster's keys that can be rotated, and how far their rotations have got",
		s.keys)
	typed(s, "POST", "/v1/keys/{name}/rotate", "Replace a key while everything goes on", s.rotateKey)
}

func (s *Server) podRoutes() {
	typed(s, "GET", "/v1/pods", "List pods", s.pods)
	typed(s, "GET", "/v1/pods/{pod}", "One pod", s.pod)
	s.documented("GET", "/v1/pods/{pod}/ready", "200 when the pod is ready, 503 when not", shape{answers: map[int]reply{
		http.StatusOK:                 {"the pod is ready", inJSON[api.PodReadiness](s)},
		http.StatusServiceUnavailable: {"why it isn't", inJSON[api.PodReadiness](s)},
	}}, s.podReady)
	s.documented("GET", "/v1/pods/{pod}/logs", "A pod's output, a JSON line each",
		shape{query: queryOfTexts("init", "previous?", "follow?", "tail#", "since"),
			answers: replies("a line of JSON for each line of output", eachLine[api.LogLine](s))}, s.podLogs)
	s.documented("GET", "/v1/logs", "The output of all pods of an object, a JSON line each",
		shape{query: queryOfTexts("kind", "scope", "name", "run", "init", "pod", "container", "previous?", "follow?",
			"tail#", "since"),
			answers: replies("a line of JSON for each line of output", eachLine[api.LogLine](s))}, s.logs)
	s.documented("GET", "/v1/pods/{pod}/exec", "Run a command in a pod: a WebSocket of "+execwire.Protocol,
		shape{answers: map[int]reply{http.StatusSwitchingProtocols: {text: "the WebSocket is open"}}}, s.exec)
	checkedMux{s}.HandleFunc("POST /v1/pods/{pod}/exec", s.execWithoutWebSocket)
	typed(s, "POST", "/v1/pods/{pod}/stop", "Stop a pod; with freeze it stays stopped", s.stopPod)
	typed(s, "POST", "/v1/pods/{pod}/start", "Let a frozen pod run again", s.startPod)
}
