package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

// rebootstrapped is the answer to the removal of an ordinal.
type rebootstrapped struct {
	Scope   string `json:"scope"`
	Name    string `json:"name"`
	Ordinal int    `json:"ordinal"`
	Action  string `json:"action"`
	Summary struct {
		Container bool     `json:"container_removed"`
		Volumes   []string `json:"volumes_removed"`
		Errors    []string `json:"errors"`
	} `json:"summary"`
}

// callbackResource removes an ordinal of a statefulset (ordinal=), or else every object of the name.
func (s *Server) callbackResource(w http.ResponseWriter, r *http.Request, g grant) {
	if r.URL.Query().Has("ordinal") {
		s.callbackOrdinal(w, r, g)
		return
	}
	s.callbackWipe(w, r, g)
}

// callbackOrdinal recreates an ordinal of a statefulset with the current config: with empty volumes if prune=true, else
// only its container.
func (s *Server) callbackOrdinal(w http.ResponseWriter, r *http.Request, g grant) {
	_, ref, err := s.targetOf(r, g, string(api.KindStatefulSet))
	out := rebootstrapped{Scope: ref.Scope, Name: ref.Name, Action: "rebootstrap"}
	if err == nil {
		if out.Ordinal, err = strconv.Atoi(r.URL.Query().Get("ordinal")); err != nil {
			err = badRequest("write a number", "ordinal is not a number")
		}
	}
	out.Summary.Volumes, out.Summary.Errors = []string{}, []string{}
	if err == nil {
		renew := s.Verbs.Recreate
		if prune, _ := strconv.ParseBool(r.URL.Query().Get("prune")); prune {
			renew = s.Verbs.Rebootstrap
		}
		var result api.VerbResult
		result, err = renew(r.Context(), verbs.TargetOf(ref), out.Ordinal, g.actor)
		out.Summary.Volumes = append(out.Summary.Volumes, result.Volumes...)
		s.settle(r.Context(), result.Revision)
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	out.Summary.Container = true
	writeEnvelope(w, out)
}

// wiped is the answer to the removal of all objects of a name.
type wiped struct {
	Scope     string      `json:"scope"`
	Name      string      `json:"name"`
	Resources []wipedKind `json:"resources_wiped"`
	Errors    []string    `json:"errors"`
}

// wipedKind and pruned are the answer's entries about one object, in the predecessor's form.
type wipedKind struct {
	Kind   api.Kind `json:"kind"`
	Pruned pruned   `json:"pruned"`
}

type pruned struct {
	Config  bool     `json:"config_wiped"`
	AppDir  bool     `json:"app_dir_removed"`
	Volume  bool     `json:"volume_removed"`
	Volumes []string `json:"volumes_removed"`
	Errors  []string `json:"errors"`
}

// wipeOrder puts the users of assets before the assets.
var wipeOrder = []api.Kind{api.KindIngress, api.KindDeployment, api.KindStatefulSet, api.KindCronJob,
	api.KindJob, api.KindAsset}

// callbackWipe deletes every object of a name, and with prune=true its config too. Volumes stay: an ordinal's are
// removed with that ordinal, and only a user can remove all of them.
func (s *Server) callbackWipe(w http.ResponseWriter, r *http.Request, g grant) {
	bucket, err := bucketOf(r, g)
	switch {
	case err != nil:
	case bucket.Name == "":
		err = badRequest("add name=", "say which object")
	case g.name != "":
		err = &api.Problem{Status: http.StatusForbidden, Detail: "a container can't remove its own object",
			Next: "add ordinal= to have one ordinal recreated"}
	}
	var out wiped
	if err == nil {
		out, err = s.wipe(r, g, bucket)
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	writeEnvelope(w, out)
}

// wipe deletes the objects of a name in wipeOrder, and its config if that was requested.
func (s *Server) wipe(r *http.Request, g grant, bucket verbs.Bucket) (wiped, error) {
	out := wiped{Scope: bucket.Scope, Name: bucket.Name, Resources: []wipedKind{}, Errors: []string{}}
	snap, err := s.snapshot()
	if err != nil {
		return out, err
	}
	prune, _ := strconv.ParseBool(r.URL.Query().Get("prune"))
	found := false
	for _, kind := range wipeOrder {
		ref := api.Ref{Kind: kind, Scope: bucket.Scope, Name: bucket.Name}
		if !snap.Object(ref).Exists() {
			continue
		}
		found = true
		result, err := s.Verbs.Delete(r.Context(), verbs.TargetOf(ref), g.actor)
		if err != nil {
			out.Errors = append(out.Errors, fmt.Sprintf("%s: %s", ref, err))
			continue
		}
		s.settle(r.Context(), result.Revision)
		gone := wipedKind{Kind: kind, Pruned: pruned{Config: prune, Volumes: []string{}, Errors: []string{}}}
		if prune && len(result.Volumes) > 0 {
			gone.Pruned.Errors = append(gone.Pruned.Errors, "kept, remove them by hand: "+strings.Join(result.Volumes, ", "))
		}
		out.Resources = append(out.Resources, gone)
	}
	if !found {
		return out, &api.Problem{Status: http.StatusNotFound, Detail: "there is nothing named " +
			clip(bucket.Scope+"/"+bucket.Name), Next: "see GET /describe"}
	}
	if prune {
		err = s.emptyBucket(r.Context(), bucket, g.actor)
	}
	return out, err
}

// emptyBucket removes every key of an object's own bucket.
func (s *Server) emptyBucket(ctx context.Context, bucket verbs.Bucket, actor string) error {
	values, err := s.Verbs.ConfigValues(ctx, bucket, verbs.ConfigReader{Actor: actor})
	if err != nil || len(values) == 0 {
		return err
	}
	change := verbs.ConfigChange{Quiet: true, Actor: actor}
	for key := range values {
		change.Unset = append(change.Unset, key)
	}
	slices.Sort(change.Unset)
	result, err := s.Verbs.SetConfig(ctx, bucket, change)
	s.settle(ctx, result.Revision)
	return err
}
