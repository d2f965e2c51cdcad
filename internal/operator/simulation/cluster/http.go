package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Client is a client of the API server.
type Client struct {
	// Name is the client's name in Change.
	Name string
	// Before is called before each request that isn't a watch, and After once it was carried out. An error takes the
	// place of the answer. Default: not called.
	Before, After func(Request) error
	// Lag returns by how much watches are late. Nil means not at all.
	Lag Lag
}

// Request describes a request.
type Request struct {
	// Verb is the HTTP method. Resource is the resource with its subresource, as in jobs/status.
	Verb, Resource, Namespace, Name string
}

// Discovery is the resource of a request for the served kinds.
const Discovery = "discovery"

// IsWrite reports whether the request changes something.
func (r Request) IsWrite() bool { return r.Verb != http.MethodGet }

// As returns the transport of a client.
func (c *Cluster) As(client Client) http.RoundTripper { return &transport{cluster: c, client: client} }

type transport struct {
	cluster *Cluster
	client  Client
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	if found := discovery(r.URL.Path); found != nil {
		if err := t.call(t.client.Before, Request{Verb: r.Method, Resource: Discovery}); err != nil {
			return nil, err
		}
		return answer(r, http.StatusOK, found), nil
	}
	to, ok := parse(r.URL.Path)
	if !ok {
		return refusal(r, apierrors.NewGenericServerResponse(
			http.StatusNotFound, r.Method, to.kind.groupResource(), "", "no such path", 0, true,
		)), nil
	}
	if r.Method == http.MethodGet && r.URL.Query().Get("watch") != "" {
		return t.watch(r, to)
	}
	described := Request{Verb: r.Method, Resource: to.resource(), Namespace: to.namespace, Name: to.name}
	if err := t.call(t.client.Before, described); err != nil {
		return failed(r, err)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, result, err := t.carryOut(r, to, body)
	if lost := t.call(t.client.After, described); lost != nil {
		return failed(r, lost)
	}
	if err != nil {
		return refusal(r, err), nil
	}
	return answer(r, status, result), nil
}

func (t *transport) call(f func(Request) error, r Request) error {
	if f == nil {
		return nil
	}
	return f(r)
}

// failed answers with a refusal of the API server, or breaks the connection.
func failed(r *http.Request, err error) (*http.Response, error) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return refusal(r, err), nil
	}
	return nil, err
}

// place names the object, or the objects, of a path.
type place struct {
	kind            kind
	namespace, name string
	status          bool
}

func (p place) resource() string {
	if p.status {
		return p.kind.resource + "/status"
	}
	return p.kind.resource
}

func parse(path string) (place, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var p place
	var group, version string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return p, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		p.namespace, parts = parts[1], parts[2:]
	}
	var ok bool
	if p.kind, ok = kindAt(group, version, parts[0]); !ok {
		return p, false
	}
	if len(parts) > 1 {
		p.name = parts[1]
	}
	p.status = len(parts) > 2 && parts[2] == "status"
	return p, true
}

// carryOut carries out a request.
func (t *transport) carryOut(r *http.Request, to place, body []byte) (int, any, error) {
	query := r.URL.Query()
	if r.Method == http.MethodGet {
		if to.name == "" {
			list, err := t.cluster.list(to, query, isPartial(r))
			return http.StatusOK, list, err
		}
		live := t.cluster.Get(to.kind.GroupVersionKind, to.namespace, to.name)
		if live == nil {
			return 0, nil, apierrors.NewNotFound(to.kind.groupResource(), to.name)
		}
		return http.StatusOK, partly(live, isPartial(r)), nil
	}
	w := Write{By: query.Get("fieldManager"), Status: to.status, Force: query.Get("force") == "true"}
	if w.By == "" {
		w.By = t.client.Name
	}
	given := &unstructured.Unstructured{Object: map[string]any{}}
	if r.Method == http.MethodDelete {
		return t.remove(to, body)
	}
	if err := utiljson.Unmarshal(body, &given.Object); err != nil {
		return 0, nil, apierrors.NewBadRequest(err.Error())
	}
	given.SetGroupVersionKind(to.kind.GroupVersionKind)
	given.SetNamespace(to.namespace)
	if to.name != "" {
		given.SetName(to.name)
	}
	var result *unstructured.Unstructured
	var err error
	switch kind := r.Header.Get("Content-Type"); {
	case r.Method == http.MethodPost:
		result, err = t.cluster.Create(given, w)
		return http.StatusCreated, result, err
	case r.Method == http.MethodPut:
		result, err = t.cluster.Update(given, w)
	case strings.HasPrefix(kind, "application/apply-patch"):
		result, err = t.cluster.Apply(given, w)
	case strings.HasPrefix(kind, "application/merge-patch"):
		result, err = t.cluster.Merge(given, w)
	default:
		err = apierrors.NewBadRequest(fmt.Sprintf("%s %s is not supported", r.Method, kind))
	}
	return http.StatusOK, result, err
}

func (t *transport) remove(to place, body []byte) (int, any, error) {
	var options metav1.DeleteOptions
	if len(body) > 0 {
		if err := json.Unmarshal(body, &options); err != nil {
			return 0, nil, apierrors.NewBadRequest(err.Error())
		}
	}
	given := &unstructured.Unstructured{Object: map[string]any{}}
	given.SetGroupVersionKind(to.kind.GroupVersionKind)
	given.SetNamespace(to.namespace)
	given.SetName(to.name)
	uid := given.GetUID()
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		uid = *options.Preconditions.UID
	}
	left, err := t.cluster.Delete(given, t.client.Name, uid)
	if err == nil && left.GetDeletionTimestamp() == nil { // it is gone at once
		left = &unstructured.Unstructured{Object: map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
	}
	return http.StatusOK, left, err
}

// list answers with the objects that a query selects.
func (c *Cluster) list(to place, query url.Values, partial bool) (any, error) {
	selects, err := selector(query)
	if err != nil {
		return nil, err
	}
	items := []any{}
	version := c.Version()
	for _, live := range c.List(to.kind.GroupVersionKind) {
		if (to.namespace == "" || live.GetNamespace() == to.namespace) && selects(live) {
			items = append(items, partly(live, partial).Object)
		}
	}
	made := map[string]any{
		"apiVersion": to.kind.GroupVersion().String(), "kind": to.kind.Kind + "List", "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatUint(version, 10)},
	}
	if partial {
		made["apiVersion"], made["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return made, nil
}

// selector returns whether a query selects an object.
func selector(query url.Values) (func(*unstructured.Unstructured) bool, error) {
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(o *unstructured.Unstructured) bool {
		regarding, _, _ := unstructured.NestedString(o.Object, "regarding", "uid")
		return byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(fields.Set{
			"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace(), "regarding.uid": regarding,
		})
	}, nil
}

// isPartial reports whether a request asks for metadata alone.
func isPartial(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func partly(live *unstructured.Unstructured, partial bool) *unstructured.Unstructured {
	if !partial {
		return live
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": live.Object["metadata"],
	}}
}

func answer(r *http.Request, status int, value any) *http.Response {
	text, err := json.Marshal(value)
	if err != nil {
		return refusal(r, apierrors.NewInternalError(err))
	}
	return respond(r, status, io.NopCloser(bytes.NewReader(text)))
}

func respond(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1,
	}
}

// refusal answers with an error as the API server does.
func refusal(r *http.Request, err error) *http.Response {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	text, _ := json.Marshal(status)
	return respond(r, int(status.Code), io.NopCloser(bytes.NewReader(text)))
}
