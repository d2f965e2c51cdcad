package puller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errCut is the error of a request whose connection is cut.
var errCut = errors.New("the connection was cut")

// wire carries requests to a handler in this process, within the time of the test's bubble.
type wire struct {
	handler http.Handler
	// cut decides for each request whether its connection is cut before it arrives, or before its answer arrives.
	cut func(r *http.Request) (before, after bool)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	before, after := false, false
	if w.cut != nil {
		before, after = w.cut(r)
	}
	if before {
		return nil, errCut
	}
	answered := make(chan *http.Response, 1)
	go func() {
		recorder := httptest.NewRecorder()
		r.RemoteAddr = "192.0.2.1:1234"
		w.handler.ServeHTTP(recorder, r)
		answered <- recorder.Result()
	}()
	select {
	case response := <-answered:
		if after {
			return nil, errCut
		}
		return response, nil
	case <-r.Context().Done():
		<-answered // a handler ends with its request
		return nil, r.Context().Err()
	}
}

// kept holds a credential, as a Secret does.
type kept struct {
	mu         sync.Mutex
	credential pull.Credential
}

func (k *kept) Load(context.Context) (pull.Credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.credential, nil
}

func (k *kept) Save(_ context.Context, c pull.Credential) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.credential = c
	return nil
}

// texts holds pages of text, as ConfigMaps do.
type texts struct {
	mu    sync.Mutex
	pages [KeyPages][]byte
	fail  error
	// saves counts the writes.
	saves int
}

func (x *texts) Load(_ context.Context, page int) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.pages[page], nil
}

func (x *texts) Save(_ context.Context, page int, text []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fail != nil {
		return x.fail
	}
	x.pages[page] = text
	x.saves++
	return nil
}

// resources imitates a cluster. A resource's generation grows when its manifest changes.
type resources struct {
	mu      sync.Mutex
	have    map[api.ClusterResource]*Observation
	text    map[api.ClusterResource]string
	applies int
	// forced is set if an apply used force.
	forced bool
	fail   error
	// failing is the kind whose requests get the error fail. Default: all.
	failing string
	// made counts the resources that were created.
	made int
	// slow keeps deleted resources in the cluster.
	slow bool
	// takes is the time of a comparison.
	takes time.Duration
}

func newResources() *resources {
	return &resources{have: map[api.ClusterResource]*Observation{}, text: map[api.ClusterResource]string{}}
}

func (c *resources) Apply(_ context.Context, manifest json.RawMessage, force bool) (api.ClusterResource, error) {
	task, err := applies(manifest)
	if err != nil {
		return task.ref, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applies++
	c.forced = c.forced || force
	if c.fail != nil && (c.failing == "" || c.failing == task.ref.Kind) {
		return api.ClusterResource{}, c.fail
	}
	seen := c.have[task.ref]
	if seen == nil {
		seen = &Observation{Found: true, Resource: task.ref}
		c.made++
		seen.Resource.UID = fmt.Sprintf("k%d", c.made)
		c.have[task.ref] = seen
	}
	if c.text[task.ref] != string(manifest) {
		c.text[task.ref] = string(manifest)
		seen.Resource.Generation++
	}
	return seen.Resource, nil
}

func (c *resources) Delete(_ context.Context, ref api.ClusterResource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.slow {
		delete(c.have, ref)
		delete(c.text, ref)
	}
	return c.fail
}

func (c *resources) Observe(_ context.Context, ref api.ClusterResource) (Observation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen := c.have[ref]; seen != nil {
		return *seen, nil
	}
	return Observation{}, nil
}

// Compare compares texts: if another manager has written, the cluster has another text.
func (c *resources) Compare(_ context.Context, manifest json.RawMessage) (pull.State, api.ClusterResource, error) {
	task, err := applies(manifest)
	if err != nil {
		return pull.State{}, task.ref, err
	}
	<-time.After(c.takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.have[task.ref]
	switch {
	case seen == nil:
		return pull.State{Missing: true}, task.ref, nil
	case c.text[task.ref] != string(manifest):
		return pull.State{Differences: []api.ClusterDifference{{Field: "spec", Manager: "kubectl-edit"}}}, seen.Resource, nil
	}
	return pull.State{}, seen.Resource, nil
}

// edit changes a resource as another manager would.
func (c *resources) edit(ref api.ClusterResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text[ref] = "edited"
	c.have[ref].Resource.Generation++
}

// ready gives a resource its condition for its current generation.
func (c *resources) ready(ref api.ClusterResource, status api.ConditionStatus, reason string) api.ClusterResource {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.have[ref]
	seen.ObservedGeneration = seen.Resource.Generation
	seen.Conditions = []pull.Condition{{
		Type: "Ready", Status: status, Reason: reason, ObservedGeneration: seen.Resource.Generation, LastTransitionTime: time.Now(),
	}}
	return seen.Resource
}

func (c *resources) gone(ref api.ClusterResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.have, ref)
	delete(c.text, ref)
}
