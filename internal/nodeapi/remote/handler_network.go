package remote

import (
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/nodeapi/local"
	"tend.dev/tend/internal/nodeapi/wire"
)

func (h *Handler) network(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var status api.NetworkNodeStatus
	if err := wire.Read(w, r, &status); err != nil {
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
