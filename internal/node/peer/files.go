package peer

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"

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

// Fetch reads a file of the server at an address. It returns that server's problem, or the error of keep.
func Fetch(ctx context.Context, config *tls.Config, address, digest string, keep func(io.Reader) error) error {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := wire.Caller{Base: "https://" + address, Do: transport.RoundTrip}.Send(ctx, http.MethodGet,
		FilesPath+url.PathEscape(digest), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return keep(answer.Body)
}
