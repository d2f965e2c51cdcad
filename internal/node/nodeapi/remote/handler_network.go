package remote

import (
	"fmt"
	"net/http"
	"net/url"

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

func (h *Handler) resolve(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	names, err := c.Resolve(r.Context(), r.URL.Query().Get("name"))
	if err != nil {
		return err
	}
	return wire.Write(w, names)
}
