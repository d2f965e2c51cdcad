package server

import (
	"context"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

type maintenanceQuery struct {
	VerbPath
	Message string `query:"message"`
}

// trafficVerbs registers what sets what becomes of an ingress's requests.
func (s *Server) trafficVerbs() {
	sets := func(mode string) func(context.Context, verbs.Target, string) (api.VerbResult, error) {
		return func(ctx context.Context, target verbs.Target, actor string) (api.VerbResult, error) {
			return s.Verbs.SetTraffic(ctx, target, mode, "", actor)
		}
	}
	plainVerb(s, "resume", "Let the requests of an ingress through", sets(""))
	plainVerb(s, "pause", "Have the requests of an ingress wait", sets(api.TrafficPaused))
	verb(s, "maintenance", "Answer the requests of an ingress with 503 and a message",
		func(ctx context.Context, target verbs.Target, in maintenanceQuery) (api.VerbResult, error) {
			return s.Verbs.SetTraffic(ctx, target, api.TrafficMaintenance, in.Message, actorOf(ctx))
		})
}

// authority answers with the certificate that clients have to trust for provider internal. It isn't secret.
func (s *Server) authority(w http.ResponseWriter, r *http.Request) {
	err := queryOf(r).done()
	var root []byte
	if err == nil {
		if s.Authority == nil {
			err = &api.Problem{Status: http.StatusNotFound, Detail: "this server has no ingress",
				Next: "start it with --ingress-https"}
		} else {
			root, err = s.Authority(r.Context())
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, _ = w.Write(root)
}
