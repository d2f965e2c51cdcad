package client

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// ExtendLabs gives a lab, or all labs of a class that have not ended, more time. Target's kind is ignored.
func (c *Client) ExtendLabs(ctx context.Context, target Target, more time.Duration) (api.LabResult, error) {
	return call[api.LabResult](ctx, c, request{method: http.MethodPost, path: "/v1/labs/extend",
		query: queryWith("scope", target.Scope, "name", target.Name, "for", more.String())})
}

// StopLabs ends a lab, or all labs of a class that have begun, before their time is over. Target's kind is ignored.
func (c *Client) StopLabs(ctx context.Context, target Target) (api.LabResult, error) {
	return call[api.LabResult](ctx, c, request{method: http.MethodPost, path: "/v1/labs/stop",
		query: queryWith("scope", target.Scope, "name", target.Name)})
}
