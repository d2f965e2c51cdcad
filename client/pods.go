package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"tend.dev/tend/api"
)

// PodFilter narrows a listing of pods. The zero value selects all.
type PodFilter struct {
	Kind        api.Kind
	Scope, Name string
	Node        string
}

func (f PodFilter) query() url.Values {
	return queryWith("kind", string(f.Kind), "scope", f.Scope, "name", f.Name, "node", f.Node)
}

// Pods lists pods, also ended ones that are kept for inspection.
func (c *Client) Pods(ctx context.Context, filter PodFilter) (api.ListResult[api.Pod], error) {
	return call[api.ListResult[api.Pod]](ctx, c, request{method: http.MethodGet, path: "/v1/pods", query: filter.query()})
}

// Pod reads one pod by its container's name.
func (c *Client) Pod(ctx context.Context, pod string) (api.Pod, error) {
	return call[api.Pod](ctx, c, request{method: http.MethodGet, path: podPath(pod, "")})
}

// PodReadiness returns whether a pod is ready. It returns no error because a pod isn't.
func (c *Client) PodReadiness(ctx context.Context, pod string) (api.PodReadiness, error) {
	return answerOrNot[api.PodReadiness](ctx, c, podPath(pod, "/ready"))
}

// StopPod stops a pod. With freeze it stays stopped until StartPod; without it Tend replaces it.
func (c *Client) StopPod(ctx context.Context, pod string, freeze bool) (api.StopResult, error) {
	return call[api.StopResult](ctx, c, request{method: http.MethodPost, path: podPath(pod, "/stop"),
		query: queryWith("freeze", flag(freeze))})
}

// StartPod starts a frozen pod again.
func (c *Client) StartPod(ctx context.Context, pod string) (api.StopResult, error) {
	return call[api.StopResult](ctx, c, request{method: http.MethodPost, path: podPath(pod, "/start")})
}

// Stats samples live pods once.
func (c *Client) Stats(ctx context.Context, filter PodFilter) (api.ListResult[api.PodStats], error) {
	return call[api.ListResult[api.PodStats]](ctx, c,
		request{method: http.MethodGet, path: "/v1/stats", query: filter.query()})
}

func podPath(pod, rest string) string { return "/v1/pods/" + url.PathEscape(pod) + rest }

// answerOrNot reads an answer whose body has the same type with 200 and with 503.
func answerOrNot[Out any](ctx context.Context, c *Client, path string) (Out, error) {
	var out Out
	target, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return out, fmt.Errorf("call %s: %w", path, err)
	}
	if c.token != "" {
		target.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(target)
	if err != nil {
		return out, c.failure(ctx, err)
	}
	defer response.Body.Close()
	isAnswer := response.Header.Get("Content-Type") == "application/json" &&
		(response.StatusCode == http.StatusOK || response.StatusCode == http.StatusServiceUnavailable)
	if !isAnswer {
		return out, problemFrom(response)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&out); err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return out, nil
}
