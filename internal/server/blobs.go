package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/build/tree"
)

// Blobs stores files by the digest of their bytes. Errors are those of internal/store/blob.
type Blobs interface {
	PutAs(digest string, r io.Reader, limit int64) error
	Renew(digest string) (bool, error)
	Open(digest string) (*os.File, error)
}

// blob returns answer if the server stores files, else a handler that answers 503.
func (s *Server) blob(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.Blobs != nil {
			answer(w, r)
			return
		}
		s.fail(w, r, &api.Problem{Status: http.StatusServiceUnavailable, Detail: "this server keeps no files",
			Next: "start it with a root folder"})
	}
}

// putBlob stores the body under its digest. The body is streamed: each piece that arrives extends its deadline.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) {
	digest := r.PathValue("digest")
	if r.ContentLength > s.MaxBlob {
		s.fail(w, r, &http.MaxBytesError{Limit: s.MaxBlob})
		return
	}
	there, err := s.Blobs.Renew(digest)
	if there && s.holds(r.Context(), digest) != nil {
		there = false // the bytes must come, and be those
	}
	if err == nil && !there {
		err = s.keepBlob(digest, r, &patientReader{r: r.Body, control: http.NewResponseController(w)})
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// keepBlob reads a body, which may be compressed. The digest is that of the uncompressed bytes.
func (s *Server) keepBlob(digest string, r *http.Request, body io.Reader) error {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		var err error
		if body, err = tree.Inflate(body, s.MaxBlob); err != nil {
			return err
		}
	default:
		return &api.Problem{Status: http.StatusUnsupportedMediaType, Detail: "Content-Encoding " + encoding + " is not known",
			Next: "send gzip, or none"}
	}
	err := s.putCounted(r.Context(), digest, body)
	if hostile, ok := errors.AsType[*tree.HostileError](err); ok {
		return &api.Problem{Status: http.StatusRequestEntityTooLarge, Detail: hostile.Error(),
			Next: "send it without Content-Encoding, and smaller"}
	}
	return err
}

// getBlob sends a file. HEAD reports whether the file is stored, and keeps it for a while, since the client will soon
// refer to it.
func (s *Server) getBlob(w http.ResponseWriter, r *http.Request) {
	digest := r.PathValue("digest")
	there, err := s.Blobs.Renew(digest)
	if err == nil && there {
		err = s.holds(r.Context(), digest)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	file, err := s.Blobs.Open(digest)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	w.Header().Set("ETag", `"`+digest+`"`)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = io.Copy(&patientWriter{w: w, control: http.NewResponseController(w)}, file)
	}
}

// patientReader gives each piece of a body the time of a whole request, so a large file over a slow line succeeds, and
// a client that sends nothing fails.
type patientReader struct {
	r       io.Reader
	control *http.ResponseController
}

func (p *patientReader) Read(b []byte) (int, error) {
	deadline := time.Now().Add(requestTime)
	_ = p.control.SetReadDeadline(deadline)
	_ = p.control.SetWriteDeadline(deadline.Add(requestTime)) // of the answer, after the last piece
	n, err := p.r.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &api.Problem{Status: http.StatusRequestTimeout, Detail: "nothing of the file came for " + requestTime.String(),
			Next: "send it again"}
	}
	return n, err
}

// patientWriter does the same for the pieces of an answer.
type patientWriter struct {
	w       io.Writer
	control *http.ResponseController
}

func (p *patientWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(requestTime))
	return p.w.Write(b)
}
