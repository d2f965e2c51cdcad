package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"tend.dev/tend/api"
)

// AddToken makes the token of a person or a program.
func (c *Client) AddToken(ctx context.Context, asked api.AccessTokenRequest) (api.AccessToken, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return api.AccessToken{}, err
	}
	return call[api.AccessToken](ctx, c,
		request{method: http.MethodPost, path: "/v1/tokens", body: body, contentType: "application/json"})
}

// Tokens lists the tokens of people and programs, without their secrets.
func (c *Client) Tokens(ctx context.Context) (api.ListResult[api.AccessTokenInfo], error) {
	return call[api.ListResult[api.AccessTokenInfo]](ctx, c, request{method: http.MethodGet, path: "/v1/tokens"})
}

// RevokeToken revokes a token, and ends the streams opened with it.
func (c *Client) RevokeToken(ctx context.Context, name string) (api.AccessTokenInfo, error) {
	return call[api.AccessTokenInfo](ctx, c,
		request{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(name)})
}
