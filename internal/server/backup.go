package server

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// backup sends a backup. It isn't encrypted: a caller with the right to it may read every key anyway, and the
// passphrase stays with the client. The reader detects an answer that was cut off.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	if s.Backup == nil {
		s.fail(w, r, &api.Problem{Status: http.StatusNotImplemented, Detail: "this server takes no backups",
			Next: "tend version"})
		return
	}
	ctx, end, err := s.openStream(r.Context(), "backup")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server reads on to notice a client that goes
	_ = control.SetWriteDeadline(time.Time{})
	out := &begun{ResponseWriter: w}
	s.Logger.InfoContext(ctx, "backup requested", "actor", actorOf(ctx))
	if err := s.Backup(ctx, &patientWriter{w: out, control: control}); err != nil {
		if !out.yes {
			_ = control.SetWriteDeadline(time.Now().Add(requestTime))
			s.fail(w, r, err)
			return
		}
		s.Logger.ErrorContext(ctx, "a backup was cut off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// begun is an http.ResponseWriter that records whether the answer has begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.yes {
		b.yes = true
		b.Header().Set("Content-Type", "application/zstd")
		b.Header().Set("Cache-Control", "no-store")
	}
	return b.ResponseWriter.Write(p)
}

func (s *Server) backupStatus(context.Context, *struct{}) (api.BackupStatus, error) {
	if s.BackupStatus == nil {
		return api.BackupStatus{}, nil
	}
	return s.BackupStatus(), nil
}
