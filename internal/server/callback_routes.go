package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/store/records"
)

func (s *Server) callbackHealth(w http.ResponseWriter, _ *http.Request, _ grant) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": s.Version})
}

// bucketOf returns the bucket a request names, where the grant covers it.
func bucketOf(r *http.Request, g grant) (verbs.Bucket, error) {
	q := r.URL.Query()
	bucket := verbs.Bucket{Scope: q.Get("scope"), Name: plugin.PlainName(q.Get("name"))}
	if bucket.Scope == "" {
		return bucket, badRequest("add scope=", "say which bucket")
	}
	return bucket, g.allows(bucket.Scope, bucket.Name)
}

// callbackConfig answers with the values of a bucket: an app's merged over its scope's, or with merge=false only its
// own. Containers get those that their environment may have.
func (s *Server) callbackConfig(w http.ResponseWriter, r *http.Request, g grant) {
	q := r.URL.Query()
	bucket, err := bucketOf(r, g)
	var values map[string]string
	if err == nil {
		values, err = s.Verbs.ConfigValues(r.Context(), bucket,
			verbs.ConfigReader{Merged: q.Get("merge") != "false", Containers: g.reader, Actor: g.actor})
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	key := q.Get("key")
	if key == "" {
		writeEnvelope(w, map[string]any{"vars": values})
		return
	}
	value, there := values[key]
	if !there {
		s.failEnvelope(w, r, &api.Problem{Status: http.StatusNotFound, Detail: "there is no key " + clip(key),
			Next: "leave key= out to see all"})
		return
	}
	writeEnvelope(w, map[string]string{key: value})
}

// callbackSetConfig sets the keys of the body; it removes a key with an empty value.
func (s *Server) callbackSetConfig(w http.ResponseWriter, r *http.Request, g grant) {
	bucket, err := bucketOf(r, g)
	values := map[string]string{}
	if err == nil {
		err = readBody(w, r, &values)
	}
	var unset []string
	for key, value := range values {
		if value == "" {
			unset = append(unset, key)
			delete(values, key)
		}
	}
	if err == nil {
		err = s.changeConfig(r, g, bucket, values, unset)
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	writeEnvelope(w, nil)
}

func (s *Server) callbackUnsetConfig(w http.ResponseWriter, r *http.Request, g grant) {
	bucket, err := bucketOf(r, g)
	key := r.URL.Query().Get("key")
	if err == nil && key == "" {
		err = badRequest("add key=", "say which key")
	}
	if err == nil {
		err = s.changeConfig(r, g, bucket, nil, []string{key})
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	writeEnvelope(w, nil)
}

// changeConfig changes a bucket; keys that go and aren't there are not an error.
func (s *Server) changeConfig(
	r *http.Request, g grant, bucket verbs.Bucket, set map[string]string, unset []string,
) error {
	change := verbs.ConfigChange{Set: set, Quiet: r.URL.Query().Get("restart") == "false", Actor: g.actor}
	if len(unset) > 0 {
		there, err := s.Verbs.ConfigValues(r.Context(), bucket, verbs.ConfigReader{Actor: g.actor})
		if err != nil {
			return err
		}
		for _, key := range unset {
			if _, has := there[key]; has {
				change.Unset = append(change.Unset, key)
			}
		}
	}
	if len(change.Set)+len(change.Unset) == 0 {
		return nil
	}
	result, err := s.Verbs.SetConfig(r.Context(), bucket, change)
	s.settle(r.Context(), result.Revision)
	return err
}

// targetOf finds the object that a request names, if the grant covers it.
func (s *Server) targetOf(r *http.Request, g grant, kind string) (records.Snapshot, api.Ref, error) {
	q := r.URL.Query()
	named := TargetQuery{Kind: kind, Scope: q.Get("scope"), Name: plugin.PlainName(q.Get("name"))}
	target, err := named.target()
	if err != nil {
		return records.Snapshot{}, api.Ref{}, err
	}
	snap, err := s.snapshot()
	if err != nil {
		return snap, api.Ref{}, err
	}
	if !g.all { // the caller must not learn whether another's object exists
		err := g.allows(target.Scope, target.Name)
		if err != nil && !(r.Method == http.MethodGet && g.refersTo(snap, target.Scope, target.Name)) {
			return records.Snapshot{}, api.Ref{}, err
		}
	}
	ref, err := target.Resolve(snap)
	return snap, ref, err
}

// callbackDescribe answers with an object in the format that plugins expect.
func (s *Server) callbackDescribe(w http.ResponseWriter, r *http.Request, g grant) {
	snap, ref, err := s.targetOf(r, g, r.URL.Query().Get("kind"))
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	writeEnvelope(w, describedTo(snap, *snap.Object(ref).Value))
}

// callbackRestart requests a restart without waiting for it.
func (s *Server) callbackRestart(w http.ResponseWriter, r *http.Request, g grant) {
	_, ref, err := s.targetOf(r, g, r.URL.Query().Get("kind"))
	var result api.VerbResult
	if err == nil {
		result, err = s.Verbs.Restart(r.Context(), verbs.TargetOf(ref), g.actor)
		s.settle(r.Context(), result.Revision)
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	writeEnvelope(w, map[string]any{"scope": ref.Scope, "name": ref.Name, "kind": ref.Kind, "unfroze": result.Unfrozen})
}

// described is an object in the format that plugins expect.
type described struct {
	Manifest wireManifest    `json:"manifest"`
	Status   json.RawMessage `json:"status"`
	Pods     []wirePod       `json:"pods"`
}

// wireManifest and wirePod are the parts of described, in the predecessor's form.
type wireManifest struct {
	Kind     api.Kind                   `json:"kind"`
	Scope    string                     `json:"scope,omitempty"`
	Name     string                     `json:"name"`
	Spec     map[string]json.RawMessage `json:"spec"`
	Metadata struct {
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
		Revision  int64     `json:"revision"`
	} `json:"metadata"`
}

type wirePod struct {
	Name      string    `json:"name"`
	Kind      api.Kind  `json:"kind"`
	Scope     string    `json:"scope"`
	Resource  string    `json:"resource_name"`
	Replica   string    `json:"replica_id"`
	Role      string    `json:"role,omitempty"`
	Release   string    `json:"release_id,omitempty"`
	Image     string    `json:"image"`
	Status    string    `json:"status"`
	Running   bool      `json:"running"`
	CreatedAt time.Time `json:"created_at"`
}

// wireName returns the name of a pod's container.
func wireName(pod api.Pod, dotted string) string {
	if dotted == "" {
		return pod.Name
	}
	return pod.Scope + "-" + dotted + "." + pod.Slot
}

// describedTo describes an object to a plugin.
func describedTo(snap records.Snapshot, object api.Object) described {
	out := described{Status: json.RawMessage("null"), Pods: []wirePod{}}
	m := &out.Manifest
	m.Kind, m.Scope, m.Name, m.Spec = object.Kind, object.Scope, object.Name, map[string]json.RawMessage{}
	_ = json.Unmarshal(object.Spec, &m.Spec)
	if digests := object.AssetDigests(); len(digests) > 0 {
		m.Spec["_asset_digests"], _ = json.Marshal(digests)
	}
	m.Metadata.CreatedAt, m.Metadata.UpdatedAt = object.Metadata.CreatedAt, object.Metadata.UpdatedAt
	m.Metadata.Revision = snap.Object(object.Ref()).Modified
	if status := withStatus(snap, object).Status; len(status) > 0 {
		out.Status = status
	}
	dotted := object.Dotted()
	m.Name = cmp.Or(dotted, m.Name)
	for _, pod := range podsOf(snap, podFilter{kind: object.Kind, scope: object.Scope, name: object.Name}) {
		out.Pods = append(out.Pods, wirePod{
			Name: wireName(pod, dotted), Kind: pod.Kind, Scope: pod.Scope, Resource: m.Name, Replica: pod.Slot,
			Role:    string(pod.Role),
			Release: pod.Release, Image: pod.Image, Status: string(pod.State), Running: pod.State == api.TaskRunning,
			CreatedAt: pod.CreatedAt,
		})
	}
	return out
}
