package peer

import (
	"context"
	"crypto/tls"
	"net/http"

	"tend.dev/tend/internal/node/nodeapi/wire"
)

// RevisionPath is the path at which servers query each other's revision.
const RevisionPath = "/server/v1/revision"

// seen is the answer: the revision of the store up to which a server shows everything.
type seen struct {
	Revision int64 `json:"revision"`
}

// Revision serves this server's newest revision to other servers.
func Revision(revision func() int64) http.Handler {
	return ofServers(func(w http.ResponseWriter, _ *http.Request) { _ = wire.Write(w, seen{revision()}) })
}

// AskRevision returns the newest revision of the server at an address.
func AskRevision(ctx context.Context, config *tls.Config, address string) (int64, error) {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	var answer seen
	err := wire.Caller{Base: "https://" + address, Do: transport.RoundTrip}.Get(ctx, RevisionPath, &answer)
	return answer.Revision, err
}
