package remote

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/local"
)

// Admit is asked about a call of a container once its token is known, which is that of an object. It waits until the
// call may be answered, or refuses it; leave is called at the end of the answer.
type Admit = func(w http.ResponseWriter, r *http.Request, object api.Ref) (leave func(), err error)

// callbackPath is below which the calls of containers arrive.
const callbackPath = "callbacks/"

// callerKey is the key of the node on which a container calls, in the context of its request.
type callerKey struct{}

// callback answers a container of a node. Who it is and what it may do, the token in its path says.
func (h *Handler) callback(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	from := context.WithValue(r.Context(), callerKey{}, c)
	http.StripPrefix(Prefix+"callbacks", h.callbacks).ServeHTTP(w, r.WithContext(from))
	return nil
}

// admit is the Admit of this handler: a token counts on the nodes that run its object.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, object api.Ref) (leave func(), err error) {
	c, _ := r.Context().Value(callerKey{}).(*local.Control)
	if !c.Runs(object) {
		return nil, &api.Problem{Status: http.StatusForbidden,
			Detail: "node " + c.ID() + " runs no pod of " + object.String() + ", whose token this is",
			Next:   "call from a container of that object"}
	}
	return h.bounds.calls.enter(w, r, c.ID(), object)
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
