package remote

import (
	"fmt"
	"net/http"
	"net/url"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/wire"
)

// sinceIn returns the revision that a node has followed to; 0 if it begins.
func sinceIn(query url.Values) (since int64, err error) {
	if text := query.Get("since"); text != "" {
		if _, err := fmt.Sscan(text, &since); err != nil {
			return 0, fmt.Errorf("since=%q: %w", text, wire.ErrBadRequest)
		}
	}
	return since, nil
}

func (h *Handler) network(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var status api.NetworkNodeStatus
	if err := readBody(w, r, &status); err != nil {
		return err
	}
	if err := c.ReportNetwork(r.Context(), status); err != nil {
		return err
	}
	return wire.Write(w, reported{})
}

func (h *Handler) resolve(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	names, err := c.Resolve(r.Context(), r.URL.Query().Get("name"))
	if err != nil {
		return err
	}
	return wire.Write(w, names)
}
