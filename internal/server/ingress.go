package server

import (
	"net/http"

	"tend.dev/tend/api"
)

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
