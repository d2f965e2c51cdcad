package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/routemux"
)

// FilesPath is the prefix of the paths at which servers fetch files from each other.
const FilesPath = "/server/v1/blobs/"

// Files serves files by their digest to other servers.
func Files(open func(digest string) (io.ReadCloser, error)) *routemux.Mux {
	mux := routemux.New()
	mux.HandleFunc("GET "+FilesPath+"{digest}", ofServers(func(w http.ResponseWriter, r *http.Request) {
		content, err := open(r.PathValue("digest"))
		if err != nil {
			wire.Fail(w, wire.ProblemOf(err))
			return
		}
		defer content.Close()
		wire.Copy(w, content)
	}))
	return mux
}

// ofServers answers the servers of the cluster alone.
func ofServers(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !authority.IsServer(r.TLS) {
			wire.Fail(w, &api.Problem{Status: http.StatusUnauthorized, Title: "NotAServer",
				Detail: "that is for the servers of the cluster alone"})
			return
		}
		next(w, r)
	}
}

// silence is the longest time that Fetch waits for a server's answer, or for more of it. A stalled server's connection
// may stay open.
const silence = 20 * time.Second

// errSilent is returned if a server is silent for that long.
var errSilent = fmt.Errorf("the server sent nothing for %s", silence)

// Fetch reads a file of the server at an address. It returns that server's problem, or the error of keep. A server that
// falls silent is an error too; the whole takes as long as the file needs.
func Fetch(ctx context.Context, config *tls.Config, address, digest string, keep func(io.Reader) error) error {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	return fetch(ctx, wire.Caller{Base: "https://" + address, Do: transport.RoundTrip}, digest, keep)
}

func fetch(ctx context.Context, server wire.Caller, digest string, keep func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer waiting.Stop()
	answer, err := server.Send(ctx, http.MethodGet, FilesPath+url.PathEscape(digest), nil)
	waiting.Stop()
	if err == nil {
		defer answer.Body.Close()
		err = keep(&heard{answer.Body, waiting})
	}
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// heard is a body of which each read is waited for.
type heard struct {
	body    io.Reader
	waiting *time.Timer
}

// Read implements io.Reader.
func (h *heard) Read(p []byte) (int, error) {
	h.waiting.Reset(silence)
	defer h.waiting.Stop()
	return h.body.Read(p)
}
