package remote

import (
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/nodeapi/local"
	"tend.dev/tend/internal/nodeapi/wire"
)

// inFull has an agent that doesn't ask for what moved, which is older, sent all pods of a node where one has.
func inFull(c *local.Control, r *http.Request, send func(node.Frame) error) func(node.Frame) error {
	if r.URL.Query().Has("moved") {
		return send
	}
	return func(frame node.Frame) error { return send(c.Whole(frame)) }
}

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
