package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

func (s *Server) apply(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	opts := verbs.ApplyOptions{DryRun: q.boolean("dry_run"), Prune: q.boolean("prune"), Force: q.boolean("force"),
		Set: q.text("set"), FieldManager: verbs.FieldManager{Actor: actorOf(r.Context()),
			ForceConflicts: q.boolean("force_conflicts")}}
	if err := q.done(); err != nil {
		s.fail(w, r, err)
		return
	}
	objects, err := s.readObjects(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	noteObjects(r.Context(), objects)
	if err := verbs.CheckRights(r.Context(), objects); err != nil { // before a plugin is called for the objects of a macro
		s.fail(w, r, err)
		return
	}
	takesTime(w, applyTime(objects))
	result, err := s.applyObjects(r.Context(), objects, opts)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	noteAnswer(r.Context(), result)
	s.settle(r.Context(), result.Revision)
	writeJSON(w, http.StatusOK, result)
}

func (s *Server) readObjects(w http.ResponseWriter, r *http.Request) ([]api.Object, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxApplyBytes))
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil // verbs decides whether an empty apply is valid
	}
	objects, err := s.Decode(data, r.Header.Get("Content-Type"))
	if err != nil {
		return nil, unreadable(err)
	}
	return objects, nil
}

// unreadable returns the problem of a body that can't be decoded.
func unreadable(err error) error {
	problem := problemOf(err)
	if problem.Status == http.StatusInternalServerError {
		return badRequest("send a manifest or a list of them, as JSON or YAML",
			"the manifests can't be read; nothing was stored: %v", err)
	}
	return problem
}

// decodeJSON decodes one object or a list of them. Unknown fields are errors.
func decodeJSON(data []byte, _ string) ([]api.Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var err error
	var objects []api.Object
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		err = decoder.Decode(&objects)
	} else {
		objects = make([]api.Object, 1)
		err = decoder.Decode(&objects[0])
	}
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, badRequest("send one JSON value: a manifest or a list", "something follows the manifests")
	}
	return objects, nil
}
