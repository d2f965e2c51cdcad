package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"tend.dev/tend/api"
)

// Target names an object; Kind and Scope may be left out where the rest is unambiguous.
type Target struct {
	Kind  api.Kind
	Scope string
	Name  string
}

// TargetOf returns the target that names exactly one object.
func TargetOf(ref api.Ref) Target { return Target(ref) }

func (t Target) query(more ...string) url.Values {
	return queryWith(append([]string{"kind", string(t.Kind), "scope", t.Scope, "name", t.Name}, more...)...)
}

// Option changes how a verb behaves.
type Option string

// ForceConflicts takes over the fields that another manager set to another value, instead of being refused.
const ForceConflicts Option = "force_conflicts"

// WithConfig has a rollback return to the config of the release too.
const WithConfig Option = "with_config"

// DryRun makes a rollback only return what it would do.
const DryRun Option = "dry_run"

// NoRestart makes a change of a bucket reach containers only with their workload's next release or restart.
const NoRestart Option = "no_restart"

// Verb calls a verb of an object, with its input as parameters. The API's description lists the verbs; many have typed
// calls in this package. Omitted parts of a target become - in the path.
func Verb[Answer any](ctx context.Context, c *Client, target Target, verb string, input url.Values) (Answer, error) {
	ref := api.Ref{Kind: cmp.Or(target.Kind, "-"), Scope: cmp.Or(target.Scope, "-"), Name: target.Name}
	return call[Answer](ctx, c, request{method: http.MethodPost, path: objectPath(ref) + "/" + verb, query: input})
}

// ask is Verb with parameters by name and value; empty values are left out.
func ask[Answer any](ctx context.Context, c *Client, target Target, verb string, pairs ...string) (Answer, error) {
	return Verb[Answer](ctx, c, target, verb, queryWith(pairs...))
}

// unscoped names an object that is in no scope.
func unscoped(kind api.Kind, name string) Target {
	return Target{Kind: kind, Scope: api.Unscoped, Name: name}
}

// optional adds options to the parameters of a verb.
func optional(options []Option, pairs ...string) []string {
	for _, option := range options {
		pairs = append(pairs, string(option), flag(true))
	}
	return pairs
}

// Scale sets the replicas of a deployment or a statefulset.
func (c *Client) Scale(ctx context.Context, target Target, replicas int, options ...Option) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, target, "scale", optional(options, "replicas", strconv.Itoa(replicas))...)
}

// Restart replaces every pod by the workload's strategy.
func (c *Client) Restart(ctx context.Context, target Target) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, target, "restart")
}

// SyncNow polls the source of a sync at once. Its status has the answer's revision as ObservedRevision when that is
// done.
func (c *Client) SyncNow(ctx context.Context, name string) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, unscoped(api.KindSync, name), "poll")
}

// Resume ends the pause of a server whose store was restored. unknown decides the fate of containers that the store
// doesn't have; if it is empty and there are any, the server refuses.
func (c *Client) Resume(ctx context.Context, unknown api.UnknownContainers) (api.ResumeResult, error) {
	return call[api.ResumeResult](ctx, c, request{method: http.MethodPost, path: "/v1/resume", slow: true,
		query: queryWith("unknown", string(unknown))})
}

// Rebootstrap recreates one ordinal of a statefulset with empty volumes. Their data is lost.
func (c *Client) Rebootstrap(ctx context.Context, target Target, ordinal int) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, target, "rebootstrap", "ordinal", strconv.Itoa(ordinal))
}

// Rollback returns to a release; an empty one means the newest good release before the current one. Config stays as it
// is, unless WithConfig is given; the answer names the changes.
func (c *Client) Rollback(
	ctx context.Context, target Target, release string, options ...Option,
) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, target, "rollback", optional(options, "release", release)...)
}

// Stop stops all pods of an object. With freeze they stay stopped until Start; without it Tend replaces them.
func (c *Client) Stop(ctx context.Context, target Target, freeze bool) (api.StopResult, error) {
	return ask[api.StopResult](ctx, c, target, "stop", "freeze", flag(freeze))
}

// Start starts all frozen pods of an object again.
func (c *Client) Start(ctx context.Context, target Target) (api.StopResult, error) {
	return ask[api.StopResult](ctx, c, target, "start")
}

// Releases lists the releases kept of an object, newest first.
func (c *Client) Releases(ctx context.Context, target Target) (api.ListResult[api.ReleaseInfo], error) {
	return call[api.ListResult[api.ReleaseInfo]](ctx, c,
		request{method: http.MethodGet, path: "/v1/releases", query: target.query()})
}

// ConfigKeys returns the keys of a bucket: a scope's, with the apps that have keys of their own, or with a name one
// app's.
func (c *Client) ConfigKeys(ctx context.Context, scope, name string) (api.ConfigResult, error) {
	return call[api.ConfigResult](ctx, c, request{method: http.MethodGet, path: "/v1/config",
		query: queryWith("scope", scope, "name", name)})
}

// ConfigValue returns one value of a bucket in plain text. The server logs the caller.
func (c *Client) ConfigValue(ctx context.Context, scope, name, key string) (string, error) {
	result, err := call[api.ConfigResult](ctx, c, request{method: http.MethodGet, path: "/v1/config",
		query: queryWith("scope", scope, "name", name, "key", key)})
	if err == nil && result.Value == nil {
		err = errors.New("the server answered without the value: it may be older than this client")
	}
	if err != nil {
		return "", err
	}
	return *result.Value, nil
}

// SetConfig sets and removes keys of a bucket in one commit. With NoRestart running containers are not restarted.
func (c *Client) SetConfig(
	ctx context.Context, scope, name string, change api.ConfigRequest, options ...Option,
) (api.ConfigResult, error) {
	body, err := json.Marshal(change)
	if err != nil {
		return api.ConfigResult{}, fmt.Errorf("encode the values: %w", err)
	}
	query := queryWith("scope", scope, "name", name)
	if slices.Contains(options, NoRestart) {
		query.Set("restart", "false")
	}
	return call[api.ConfigResult](ctx, c, request{method: http.MethodPost, path: "/v1/config", body: body,
		contentType: "application/json", query: query})
}

// Nodes lists the nodes.
func (c *Client) Nodes(ctx context.Context) (api.ListResult[api.NodeInfo], error) {
	return call[api.ListResult[api.NodeInfo]](ctx, c, request{method: http.MethodGet, path: "/v1/nodes"})
}

// Disks lists the data on the disks of the nodes.
func (c *Client) Disks(ctx context.Context) (api.ListResult[api.NodeDisk], error) {
	return call[api.ListResult[api.NodeDisk]](ctx, c, request{method: http.MethodGet, path: "/v1/system/disk"})
}

// Prune removes the images that nothing refers to from all nodes. A dry run only lists them.
func (c *Client) Prune(ctx context.Context, dryRun bool) (api.ListResult[api.NodeDisk], error) {
	query := url.Values{"dry_run": {strconv.FormatBool(dryRun)}}
	return call[api.ListResult[api.NodeDisk]](ctx, c,
		request{method: http.MethodPost, path: "/v1/system/prune", query: query})
}

// JoinToken makes a token with which machines join as nodes, or as servers.
func (c *Client) JoinToken(ctx context.Context, asked api.JoinTokenRequest) (api.JoinToken, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return api.JoinToken{}, err
	}
	return call[api.JoinToken](ctx, c,
		request{method: http.MethodPost, path: "/v1/nodes/tokens", body: body, contentType: "application/json"})
}

// JoinTokens lists the tokens with which machines join, without their secrets.
func (c *Client) JoinTokens(ctx context.Context) (api.ListResult[api.JoinTokenInfo], error) {
	return call[api.ListResult[api.JoinTokenInfo]](ctx, c, request{method: http.MethodGet, path: "/v1/nodes/tokens"})
}

// RevokeJoinToken revokes a token: nothing joins with it any more.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) error {
	_, err := call[api.JoinTokenInfo](ctx, c,
		request{method: http.MethodDelete, path: "/v1/nodes/tokens/" + url.PathEscape(id)})
	return err
}

// Keys lists the cluster's keys that can be rotated, with the progress of their rotations.
func (c *Client) Keys(ctx context.Context) (api.Keys, error) {
	return call[api.Keys](ctx, c, request{method: http.MethodGet, path: "/v1/keys"})
}

// RotateKey begins the rotation of a key, or returns the state of a running one.
func (c *Client) RotateKey(ctx context.Context, name string) (api.Keys, error) {
	return call[api.Keys](ctx, c, request{method: http.MethodPost, path: "/v1/keys/" + url.PathEscape(name) + "/rotate"})
}

// Servers lists the servers that hold the cluster's store.
func (c *Client) Servers(ctx context.Context) (api.Servers, error) {
	return call[api.Servers](ctx, c, request{method: http.MethodGet, path: "/v1/servers"})
}

// RemoveServer removes a server from the cluster, and returns the remaining ones.
func (c *Client) RemoveServer(ctx context.Context, name string) (api.Servers, error) {
	return call[api.Servers](ctx, c, request{method: http.MethodDelete, path: "/v1/servers/" + url.PathEscape(name)})
}

// SetAvailability sets whether a node accepts pods: api.NodeActive, api.NodeCordoned or api.NodeDrained.
func (c *Client) SetAvailability(
	ctx context.Context, node, availability string, forceConflicts bool,
) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, unscoped(api.KindNode, node), "availability",
		"availability", availability, "force_conflicts", flag(forceConflicts))
}

// Rebalance moves pods to level the nodes: those of one deployment, of a scope, or of all deployments. A dry run only
// plans.
func (c *Client) Rebalance(ctx context.Context, scope, name string, dryRun bool) (api.RebalanceResult, error) {
	return call[api.RebalanceResult](ctx, c, request{method: http.MethodPost, path: "/v1/rebalance",
		query: queryWith("scope", scope, "name", name, "dry_run", flag(dryRun))})
}

// ConfirmNodeDown confirms that a silent node is off, so that its pods are replaced at once. A dry run only returns
// what would become of them.
func (c *Client) ConfirmNodeDown(ctx context.Context, node string, dryRun bool) (api.NodeDownResult, error) {
	return ask[api.NodeDownResult](ctx, c, unscoped(api.KindNode, node), "down", "dry_run", flag(dryRun))
}

// RemoveOptions configures the removal of a node.
type RemoveOptions struct {
	// Force also removes a node that answers: it is disconnected at once.
	Force bool
	// DryRun only returns what would become of its pods and their data.
	DryRun bool
}

// RemoveNode removes a silent node from the cluster.
func (c *Client) RemoveNode(ctx context.Context, node string, o RemoveOptions) (api.NodeDownResult, error) {
	return call[api.NodeDownResult](ctx, c, request{method: http.MethodDelete, path: "/v1/nodes/" + url.PathEscape(node),
		query: queryWith("force", flag(o.Force), "dry_run", flag(o.DryRun))})
}

// Version describes the server's build.
func (c *Client) Version(ctx context.Context) (api.Version, error) {
	return call[api.Version](ctx, c, request{method: http.MethodGet, path: "/version"})
}

// Readiness returns whether the server is ready, and if not the reasons. A server that isn't ready is not an error.
func (c *Client) Readiness(ctx context.Context) (api.Readiness, error) {
	return answerOrNot[api.Readiness](ctx, c, "/readyz")
}
