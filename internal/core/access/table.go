package access

import "tend.dev/tend/api"

// Bound is the way in which the scopes of a grant limit a route.
type Bound int

// The bounds.
const (
	// Whole: the call is about the whole cluster. A grant with scopes does not cover it.
	Whole Bound = iota
	// Named: the call is about the scope that it names, in its path or as the parameter scope.
	Named
	// OfPod: the call is about the scope of the pod in its path.
	OfPod
	// Filtered: the answer has what is in the scopes of the grant, and the handler leaves out the rest.
	Filtered
	// Contents: the call is about the scopes of what is in its body, and the handler checks each.
	Contents
	// Free: the call is about no scope.
	Free
)

// Rule determines the callers of a route.
type Rule struct {
	// Least is the least role that may.
	Least api.AccessRole
	Bound Bound
	// Does names the call in a refusal, as in "exec needs deployer".
	Does string
	// Above is a query parameter with which the call takes a deployer.
	Above string
}

// Table has the rule of each route, as the API's mux has it.
type Table map[string]Rule

// Rules has a row for each route of the API, but for the verbs of objects: each declares its own.
var Rules = Table{
	"GET /healthz":                             {api.Viewer, Free, "health", ""},
	"GET /readyz":                              {api.Viewer, Free, "readiness", ""},
	"GET /version":                             {api.Viewer, Free, "version", ""},
	"GET /openapi.json":                        {api.Viewer, Free, "the API's description", ""},
	"GET /openapi.yaml":                        {api.Viewer, Free, "the API's description", ""},
	"GET /openapi-3.0.json":                    {api.Viewer, Free, "the API's description", ""},
	"GET /openapi-3.0.yaml":                    {api.Viewer, Free, "the API's description", ""},
	"GET /v1/ingress/ca":                       {api.Viewer, Free, "the authority's certificate", ""},
	"GET /metrics":                             {api.Viewer, Whole, "metrics", ""},
	"GET /v1/nodes":                            {api.Viewer, Whole, "nodes", ""},
	"GET /v1/servers":                          {api.Viewer, Whole, "servers", ""},
	"GET /v1/plugins":                          {api.Viewer, Whole, "plugins", ""},
	"GET /v1/backup":                           {api.Viewer, Whole, "the state of backups", ""},
	"GET /v1/objects/{kind}":                   {api.Viewer, Filtered, "get", ""},
	"GET /v1/events":                           {api.Viewer, Filtered, "events", ""},
	"GET /v1/pods":                             {api.Viewer, Filtered, "get pods", ""},
	"GET /v1/runs":                             {api.Viewer, Filtered, "runs", ""},
	"GET /v1/stats":                            {api.Viewer, Filtered, "stats", ""},
	"GET /v1/objects/{kind}/{scope}/{name}":    {api.Viewer, Named, "get", ""},
	"GET /v1/runs/{kind}/{scope}/{name}/{id}":  {api.Viewer, Named, "runs", ""},
	"GET /v1/builds/{scope}/{name}/{id}/log":   {api.Viewer, Named, "a build's log", ""},
	"GET /v1/releases":                         {api.Viewer, Named, "releases", ""},
	"GET /v1/deliveries":                       {api.Viewer, Named, "deliveries", ""},
	"GET /v1/logs":                             {api.Viewer, Named, "logs", ""},
	"GET /v1/config":                           {api.Viewer, Named, "config", "key"},
	"GET /v1/pods/{pod}":                       {api.Viewer, OfPod, "get pods", ""},
	"GET /v1/pods/{pod}/ready":                 {api.Viewer, OfPod, "readiness", ""},
	"GET /v1/pods/{pod}/logs":                  {api.Viewer, OfPod, "logs", ""},
	"POST /v1/await":                           {api.Viewer, Contents, "wait", ""},
	"POST /v1/apply":                           {api.Deployer, Contents, "apply", ""},
	"PUT /v1/blobs/{digest}":                   {api.Deployer, Free, "sending files", ""},
	"HEAD /v1/blobs/{digest}":                  {api.Deployer, Free, "sending files", ""},
	"DELETE /v1/objects/{kind}/{scope}/{name}": {api.Deployer, Named, "delete", ""},
	"POST /v1/config":                          {api.Deployer, Named, "config set", ""},
	"GET /v1/pods/{pod}/exec":                  {api.Deployer, OfPod, "exec", ""},
	"POST /v1/pods/{pod}/exec":                 {api.Deployer, OfPod, "exec", ""},
	"POST /v1/pods/{pod}/stop":                 {api.Deployer, OfPod, "stop", ""},
	"POST /v1/pods/{pod}/start":                {api.Deployer, OfPod, "start", ""},
	"GET /v1/blobs/{digest}":                   {api.Admin, Whole, "reading files", ""},
	"GET /v1/audit":                            {api.Admin, Whole, "audit", ""},
	"POST /v1/backup":                          {api.Admin, Whole, "backup", ""},
	"POST /v1/resume":                          {api.Admin, Whole, "resume", ""},
	"POST /v1/rebalance":                       {api.Admin, Whole, "rebalance", ""},
	"GET /v1/tokens":                           {api.Admin, Whole, "tokens", ""},
	"POST /v1/tokens":                          {api.Admin, Whole, "tokens add", ""},
	"DELETE /v1/tokens/{name}":                 {api.Admin, Whole, "tokens revoke", ""},
	"GET /v1/system/disk":                      {api.Viewer, Whole, "system df", ""},
	"POST /v1/system/prune":                    {api.Admin, Whole, "system prune", ""},
	"GET /v1/nodes/tokens":                     {api.Admin, Whole, "nodes tokens", ""},
	"POST /v1/nodes/tokens":                    {api.Admin, Whole, "nodes add", ""},
	"DELETE /v1/nodes/tokens/{id}":             {api.Admin, Whole, "nodes tokens revoke", ""},
	"DELETE /v1/nodes/{node}":                  {api.Admin, Whole, "nodes remove", ""},
	"DELETE /v1/servers/{name}":                {api.Admin, Whole, "servers remove", ""},
	"GET /v1/keys":                             {api.Admin, Whole, "keys", ""},
	"POST /v1/keys/{name}/rotate":              {api.Admin, Whole, "keys rotate", ""},
	"POST /v1/plugins":                         {api.Admin, Whole, "plugins install", ""},
	"DELETE /v1/plugins/{name}":                {api.Admin, Whole, "plugins remove", ""},
	"POST /plugin/{name}/{command}":            {api.Admin, Whole, "a plugin's command", ""},
}

// Deployers returns the rule of a verb that deployers may ask of what is in a scope of theirs.
func Deployers(does string) Rule { return Rule{Least: api.Deployer, Bound: Named, Does: does} }

// Admins returns the rule of a verb that only admins may ask for.
func Admins(does string) Rule { return Rule{Least: api.Admin, Bound: Whole, Does: does} }
