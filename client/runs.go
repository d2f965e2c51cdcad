package client

import (
	"context"
	"net/http"
	"net/url"

	"tend.dev/tend/api"
)

// Run requests a run of a job or a cron job.
func (c *Client) Run(ctx context.Context, target Target) (api.RunResult, error) {
	return ask[api.RunResult](ctx, c, target, "run")
}

// Runs lists the runs kept of an object, newest first; an empty target lists all.
func (c *Client) Runs(ctx context.Context, target Target) (api.ListResult[api.Run], error) {
	return call[api.ListResult[api.Run]](ctx, c, request{method: http.MethodGet, path: "/v1/runs", query: target.query()})
}

// RunOf reads one run.
func (c *Client) RunOf(ctx context.Context, owner api.Ref, id string) (api.Run, error) {
	return call[api.Run](ctx, c, request{method: http.MethodGet, path: runPath(owner, id)})
}

// AwaitRun returns a run once it has ended, or after a while in its present state: call it again.
func (c *Client) AwaitRun(ctx context.Context, owner api.Ref, id string) (api.Run, error) {
	return call[api.Run](ctx, c, request{method: http.MethodGet, path: runPath(owner, id),
		query: queryWith("wait", flag(true))})
}

func runPath(owner api.Ref, id string) string {
	return "/v1/runs/" + url.PathEscape(string(owner.Kind)) + "/" + url.PathEscape(owner.Scope) + "/" +
		url.PathEscape(owner.Name) +
		"/" + url.PathEscape(id)
}
