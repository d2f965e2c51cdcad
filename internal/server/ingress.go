package server

import (
	"context"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/verbs"
)

// traffics maps the last word of POST /v1/ingress/… to the mode it sets.
var traffics = map[string]string{"resume": "", "pause": api.TrafficPaused, "maintenance": api.TrafficMaintenance}

type trafficQuery struct {
	TargetQuery
	Traffic string `path:"traffic"`
	Message string `query:"message"`
}

func (s *Server) setTraffic(ctx context.Context, in *trafficQuery) (api.VerbResult, error) {
	mode, known := traffics[in.Traffic]
	if !known {
		return api.VerbResult{}, badRequest("pause, resume or maintenance", "there is nothing called %s", in.Traffic)
	}
	return s.verb(ctx, in.TargetQuery, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.SetTraffic(ctx, target, mode, in.Message, actorOf(ctx))
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
