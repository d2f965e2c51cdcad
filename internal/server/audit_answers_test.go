package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestTheAnswerSaysWhatACallWasAbout: where the path leaves out the kind and the scope, the audit has those of the
// object that answered.
func TestTheAnswerSaysWhatACallWasAbout(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) {
		o.Auditor = audit
		o.TestSink = func(_ context.Context, sink api.Object) (api.SinkTest, error) {
			return api.SinkTest{Sink: sink.Name}, nil
		}
		o.InviteCluster = func(_ context.Context, name string, _ time.Duration, _ bool) (api.ClusterRegistration, error) {
			return api.ClusterRegistration{Cluster: name}, nil
		}
	})
	for _, object := range []api.Object{
		{Kind: api.KindJob, Scope: "prod", Name: "nightly", Spec: []byte(`{"image":"a:1"}`)},
		{Kind: api.KindSink, Scope: api.Unscoped, Name: "on-call", Spec: []byte(`{"type":"webhook"}`)},
	} {
		w.put(records.ObjectKey(object.Ref()), object)
	}
	w.put(records.NodeKey("n7"), api.NodeStatus{ID: "n7", Runtime: "docker"})
	for path, want := range map[string]api.Ref{
		"nightly/run":                           {Kind: api.KindJob, Scope: "prod", Name: "nightly"},
		"on-call/test":                          {Kind: api.KindSink, Scope: api.Unscoped, Name: "on-call"},
		"edge/token":                            {Kind: api.KindCluster, Scope: api.Unscoped, Name: "edge"},
		"n7/availability?availability=cordoned": {Kind: api.KindNode, Scope: api.Unscoped, Name: "n7"},
		"n7/down?dry_run=1":                     {Kind: api.KindNode, Scope: api.Unscoped, Name: "n7"},
	} {
		response, text := w.raw("POST", "/v1/objects/-/-/"+path, "", "")
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, text)
			continue
		}
		audit.mu.Lock()
		call := audit.calls[len(audit.calls)-1]
		audit.mu.Unlock()
		if got := (api.Ref{Kind: call.Kind, Scope: call.Scope, Name: call.Name}); got != want {
			t.Errorf("%s is filed as %q", path, got)
		}
	}
}
