package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"tend.dev/tend/api"
)

// Apply stores objects, all or none. With DryRun it only returns what would happen.
func (c *Client) Apply(ctx context.Context, request api.ApplyRequest) (api.ApplyResult, error) {
	objects := request.Objects
	if objects == nil {
		objects = []api.Object{}
	}
	body, err := json.Marshal(objects)
	if err != nil {
		return api.ApplyResult{}, fmt.Errorf("encode the manifests: %w", err)
	}
	return c.applyBody(ctx, body, "application/json", request)
}

// ApplyBody is Apply with manifests as the server decodes them (JSON or YAML); request.Objects is ignored.
func (c *Client) ApplyBody(
	ctx context.Context, body []byte, contentType string, r api.ApplyRequest,
) (api.ApplyResult, error) {
	return c.applyBody(ctx, body, contentType, r)
}

// applyBody waits longer where plugins may be installed meanwhile.
func (c *Client) applyBody(
	ctx context.Context, body []byte, contentType string, r api.ApplyRequest,
) (api.ApplyResult, error) {
	macros := slices.ContainsFunc(r.Objects, func(o api.Object) bool { return !o.Kind.Core() })
	if len(body) > api.MaxApplyBytes {
		return api.ApplyResult{}, &api.Problem{Status: http.StatusRequestEntityTooLarge, Title: "Request Entity Too Large",
			Detail: fmt.Sprintf("the manifests are larger than %d bytes; nothing was sent", api.MaxApplyBytes),
			Next:   "apply in smaller parts"}
	}
	return call[api.ApplyResult](ctx, c,
		request{method: http.MethodPost, path: "/v1/apply", body: body, contentType: contentType, slow: macros,
			query: queryWith("dry_run", flag(r.DryRun), "prune", flag(r.Prune), "force", flag(r.Force), "force_conflicts",
				flag(r.ForceConflicts), "set", r.Set)})
}

// ObjectFilter narrows a listing or a watch. The zero value selects all.
type ObjectFilter struct {
	Scope string
	// Selector is key=value, key!=value, key or !key, separated by commas.
	Selector string
}

// Objects lists a kind's objects with their statuses.
func (c *Client) Objects(ctx context.Context, kind api.Kind, filter ObjectFilter) (api.ListResult[api.Object], error) {
	return call[api.ListResult[api.Object]](ctx, c,
		request{method: http.MethodGet, path: "/v1/objects/" + url.PathEscape(string(kind)),
			query: queryWith("scope", filter.Scope, "selector", filter.Selector)})
}

// Object reads one object with its status.
func (c *Client) Object(ctx context.Context, ref api.Ref) (api.Object, error) {
	return call[api.Object](ctx, c, request{method: http.MethodGet, path: objectPath(ref)})
}

// Delete requests the deletion of an object. It is gone when Object answers IsNotFound.
func (c *Client) Delete(ctx context.Context, ref api.Ref) (api.DeleteResult, error) {
	return c.DeleteWith(ctx, ref, DeleteOptions{})
}

// DeleteOptions selects what to delete with an object. The zero value keeps its config and its volumes.
type DeleteOptions struct {
	// Prune removes the config of the object's own bucket, Volumes the volumes of its ordinals with their data.
	Prune, Volumes bool
	// Orphan doesn't ask the object's Kubernetes cluster: the objects applied there stay. For a cluster it applies to
	// everything in it.
	Orphan bool
	// DryRun returns what would be deleted and what depends on it, and deletes nothing.
	DryRun bool
}

// DeleteWith is Delete with options.
func (c *Client) DeleteWith(ctx context.Context, ref api.Ref, opts DeleteOptions) (api.DeleteResult, error) {
	return call[api.DeleteResult](ctx, c, request{method: http.MethodDelete, path: objectPath(ref),
		query: queryWith("prune", flag(opts.Prune), "volumes", flag(opts.Volumes), "orphan", flag(opts.Orphan),
			"dry_run", flag(opts.DryRun))})
}

func objectPath(ref api.Ref) string {
	return "/v1/objects/" + url.PathEscape(string(ref.Kind)) + "/" + url.PathEscape(ref.Scope) + "/" +
		url.PathEscape(ref.Name)
}
