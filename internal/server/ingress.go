package server

import (
	"context"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/verbs"
)

// traffics are the verbs that set what becomes of an ingress's requests.
var traffics = map[string]string{"": "resume", api.TrafficPaused: "pause", api.TrafficMaintenance: "maintenance"}

type maintaining struct {
	VerbPath
	Message string `query:"message"`
}

// trafficVerbs registers what sets what becomes of an ingress's requests.
func (s *Server) trafficVerbs() {
	for mode, summary := range map[string]string{
		"": "Let the requests of an ingress through", api.TrafficPaused: "Have the requests of an ingress wait",
	} {
		plainVerb(s, traffics[mode], summary,
			func(ctx context.Context, target verbs.Target, actor string) (api.VerbResult, error) {
				return s.Verbs.SetTraffic(ctx, target, mode, "", actor)
			})
	}
	verb(s, traffics[api.TrafficMaintenance], "Answer the requests of an ingress with 503 and a message",
		func(ctx context.Context, target verbs.Target, in maintaining) (api.VerbResult, error) {
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
