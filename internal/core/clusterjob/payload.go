package clusterjob

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// AnnotationVersion is on every resource that is sent, and names the object it is of, and its generation.
const AnnotationVersion = pull.AnnotationObject

// VersionOf returns the object that a job is of, and its generation.
func VersionOf(job api.ClusterJob) string {
	return job.UID + "." + strconv.FormatInt(job.Generation, 10)
}

// resource is a manifest of a cluster.
type resource struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ResourceOf returns what an object is called in its cluster.
func ResourceOf(ref api.Ref) api.ClusterResource {
	r := api.ClusterResource{APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind,
		Namespace: ref.Scope, Name: ref.Name}
	if ref.Kind == api.KindOperation {
		r.APIVersion, r.Kind = api.OpsAPIVersion, api.OperationKind
	}
	return r
}

// RefOf returns the object that a resource of a cluster is of; false if it can be none.
func RefOf(r api.ClusterResource) (api.Ref, bool) {
	for _, kind := range api.KindsThat(api.Kind.Delivered) {
		if ref := (api.Ref{Kind: kind, Scope: r.Namespace, Name: r.Name}); ResourceOf(ref).Kind == r.Kind &&
			ref.Scope != "" && ref.Name != "" {
			return ref, true
		}
	}
	return api.Ref{}, false
}

// ClusterOf returns the cluster that an object names; empty if its spec can't be read.
func ClusterOf(object api.Object) string {
	var spec struct {
		Cluster string `json:"cluster"`
	}
	_ = json.Unmarshal(object.Spec, &spec) // it was validated when it was applied
	return spec.Cluster
}

// Payload returns the manifest of an object for its cluster: the spec without the fields that are Tend's own, with the
// defaults that the cluster requires.
func Payload(object api.Object) (json.RawMessage, error) {
	id := ResourceOf(object.Ref())
	out := resource{APIVersion: id.APIVersion, Kind: id.Kind, Metadata: metadata{
		Name: object.Name, Namespace: object.Scope, Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	maps.Copy(out.Metadata.Labels, object.Metadata.Labels)
	maps.Copy(out.Metadata.Annotations, sentAnnotations(object))
	out.Metadata.Labels[pull.LabelManagedBy], out.Metadata.Labels[pull.LabelClusterID] = pull.ManagedBy, ClusterOf(object)
	out.Metadata.Annotations[AnnotationVersion] = object.Metadata.UID + "." +
		strconv.FormatInt(object.Metadata.Generation, 10)
	if nonce := object.Metadata.Stamps[api.StampPull]; nonce != "" && object.Kind == api.KindApplicationInstance {
		out.Metadata.Annotations[pull.AnnotationRequestedAt] = nonce // what is sent again by force, Flux reconciles at once
	}
	var err error
	if object.Kind == api.KindOperation {
		err = out.operation(object)
	} else {
		err = out.instance(object)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s for its cluster: %w", object.Ref(), err)
	}
	return json.Marshal(out)
}

func (r *resource) instance(object api.Object) error {
	spec, err := api.DecodeStrict[api.ApplicationInstanceSpec](object.Spec)
	if err != nil {
		return err
	}
	spec.Mode = cmp.Or(spec.Mode, api.ModeManaged)
	if spec.Release != nil {
		spec.Release.Namespace = object.Scope
	}
	return r.encode(spec, object.Spec, "values", "inline")
}

func (r *resource) operation(object api.Object) error {
	spec, err := api.DecodeStrict[api.OperationSpec](object.Spec)
	if err != nil {
		return err
	}
	spec.TargetRef.APIVersion, spec.TargetRef.Kind = api.AppsAPIVersion, api.ApplicationInstanceKind
	r.Metadata.Labels[pull.LabelApplicationInstance] = spec.TargetRef.Name
	return r.encode(spec, object.Spec, "parameters")
}

// encode sets the spec, without the cluster. What lies at free keeps its text: a number of any size stays as it was
// written.
func (r *resource) encode(spec any, written json.RawMessage, free ...string) error {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	var fields, original map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return err
	}
	if err := json.Unmarshal(written, &original); err != nil {
		return err
	}
	delete(fields, "cluster")
	if err := keepText(fields, original, free); err != nil {
		return err
	}
	r.Spec, err = json.Marshal(fields)
	return err
}

// keepText replaces the value at a path by the text that was written there.
func keepText(fields, written map[string]json.RawMessage, path []string) error {
	name := path[0]
	if len(written[name]) == 0 {
		return nil
	}
	if len(path) == 1 {
		fields[name] = written[name]
		return nil
	}
	if len(fields[name]) == 0 {
		return nil
	}
	var inner, original map[string]json.RawMessage
	if err := json.Unmarshal(fields[name], &inner); err != nil {
		return err
	}
	if err := json.Unmarshal(written[name], &original); err != nil {
		return err
	}
	if err := keepText(inner, original, path[1:]); err != nil {
		return err
	}
	var err error
	fields[name], err = json.Marshal(inner)
	return err
}

// writeMark is between the key of an object and the revision of the write that a job was made for.
const writeMark = "^"

// keyOf returns the key of a new job. An object whose labels and annotations become what they were before has the
// jobKey of that time again, which its operator has done: every job but the first names the write it was made for.
func (in Input) keyOf(jobKey string) string {
	if in.Job == nil && in.Report == nil {
		return jobKey
	}
	return jobKey + writeMark + strconv.FormatInt(in.Revision, 10)
}

// asksFor reports whether a stored job is for what a jobKey names, or heals what was applied for it.
func asksFor(stored api.ClusterJob, jobKey string) bool {
	return stored.Key == jobKey || strings.HasPrefix(stored.Key, jobKey+writeMark) ||
		strings.HasPrefix(stored.Key, jobKey+healMark)
}

// jobKey returns the beginning of the key of all jobs for the same thing. Labels and annotations are no part of the
// generation, and a forced apply asks for the same again: they make a jobKey of their own.
func jobKey(object api.Object, action string) string {
	ref := object.Ref()
	base := fmt.Sprintf("%s/%s/%s@%s", ref.Kind, ref.Scope, ref.Name, object.Metadata.UID)
	if action == api.ActionDelete {
		return "delete/" + base
	}
	base = fmt.Sprintf("%s.%d", base, object.Metadata.Generation)
	more := map[string]map[string]string{"labels": object.Metadata.Labels, "annotations": sentAnnotations(object)}
	if nonce := object.Metadata.Stamps[api.StampPull]; nonce != "" {
		more["stamps"] = map[string]string{api.StampPull: nonce}
	}
	if len(object.Metadata.Labels)+len(more["annotations"])+len(more["stamps"]) == 0 {
		return base
	}
	text, _ := json.Marshal(more) // maps of texts, whose keys it sorts
	return base + "+" + hash(string(text), 8)
}

// sentAnnotations returns the annotations of an object that its cluster gets: all but those that speak to Tend.
func sentAnnotations(object api.Object) map[string]string {
	if _, own := object.Metadata.Annotations[api.AnnotationDrift]; !own {
		return object.Metadata.Annotations
	}
	sent := maps.Clone(object.Metadata.Annotations)
	delete(sent, api.AnnotationDrift)
	return sent
}

// hash returns the first hex digits of a text's SHA-256.
func hash(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}
