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

// Plugins lists the plugins of the server, including broken ones.
func (c *Client) Plugins(ctx context.Context) (api.ListResult[api.Plugin], error) {
	return call[api.ListResult[api.Plugin]](ctx, c, request{method: http.MethodGet, path: "/v1/plugins"})
}

// InstallPlugin installs a plugin, or replaces the one with its name. Its install hook may take minutes.
func (c *Client) InstallPlugin(ctx context.Context, ask api.PluginInstall) (api.Plugin, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return api.Plugin{}, fmt.Errorf("encode the source: %w", err)
	}
	return call[api.Plugin](ctx, c,
		request{method: http.MethodPost, path: "/v1/plugins", body: body, contentType: "application/json", slow: true})
}

// RemovePlugin removes a plugin. The objects of its macros stay.
func (c *Client) RemovePlugin(ctx context.Context, name string) (api.PluginRemoval, error) {
	return call[api.PluginRemoval](ctx, c,
		request{method: http.MethodDelete, path: "/v1/plugins/" + url.PathEscape(name), slow: true})
}

// CallPlugin runs a command of a plugin, named by its name or an alias. The answer's data is an api.PluginResult. A
// failed command is an answer too, with another status than ok; an error means that the server gave no answer.
func (c *Client) CallPlugin(ctx context.Context, name, command string, args []string) (api.Envelope, error) {
	if args == nil {
		args = []string{}
	}
	body, err := json.Marshal(api.PluginCall{Args: args})
	if err != nil {
		return api.Envelope{}, fmt.Errorf("encode the arguments: %w", err)
	}
	response, err := c.do(ctx, request{method: http.MethodPost, path: "/plugin/" + url.PathEscape(name) + "/" +
		url.PathEscape(command),
		body: body, contentType: "application/json", slow: true})
	if err != nil {
		return api.Envelope{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return api.Envelope{}, c.failure(ctx, err)
	}
	var envelope api.Envelope
	if json.Unmarshal(answer, &envelope) == nil && envelope.Status != "" {
		return envelope, nil
	}
	if response.StatusCode >= 300 {
		return api.Envelope{}, problemOf(response, answer)
	}
	return api.Envelope{}, fmt.Errorf("the answer of %s %s is not an envelope", name, command)
}
