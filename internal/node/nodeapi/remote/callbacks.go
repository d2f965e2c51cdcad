package remote

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"

	"tend.dev/tend/internal/node/nodeapi/local"
)

// callbackPath is below which the calls of containers arrive.
const callbackPath = "callbacks/"

// callback answers a container of a node. Who it is and what it may do, the token in its path says.
func (h *Handler) callback(_ *local.Control, w http.ResponseWriter, r *http.Request) error {
	http.StripPrefix(Prefix+"callbacks", h.Callbacks).ServeHTTP(w, r)
	return nil
}

// Callbacks returns a handler that passes the calls of this machine's containers on to the server.
func (c *Client) Callbacks() (http.Handler, error) {
	target, err := url.Parse(c.server + Prefix + callbackPath)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Transport: c.http.Transport, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}, nil
}
