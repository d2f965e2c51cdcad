package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

var shop = api.Ref{Kind: api.KindApplicationInstance, Scope: "prod", Name: "shop"}

// kubernetes answers queries to a cluster.
type kubernetes struct {
	asked  []pull.Query
	answer pull.Answer
	err    error
}

func (k *kubernetes) logs(_ context.Context, _ string, of api.Ref, q pull.Query) (pull.Answer, error) {
	if of != shop {
		return pull.Answer{}, errors.New("another object is asked about: " + of.String())
	}
	k.asked = append(k.asked, q)
	return k.answer, k.err
}

func newShop(t *testing.T) (*world, *kubernetes) {
	k := &kubernetes{}
	w := newWorld(t, func(o *server.Options) {
		o.ClusterLogs, o.Paused = k.logs, func() string { return "" }
	})
	w.put(records.ObjectKey(shop), `{"kind":"applicationinstance","scope":"prod","name":"shop","spec":{"cluster":"east"}}`)
	return w, k
}

// TestLogsOfACluster: the output of an application in a Kubernetes cluster comes by time over all containers, and says
// which lines are missing.
func TestLogsOfACluster(t *testing.T) {
	w, k := newShop(t)
	second := func(n int) time.Time { return time.Date(2026, 11, 28, 12, 0, n, 0, time.UTC) }
	k.answer = pull.Answer{Notes: []string{"2 older lines were left out"}, Outputs: []pull.Output{
		{Pod: "web-1", Container: "app", Lines: []pull.OutputLine{{At: second(1), Text: "one"}, {At: second(3), Text: "three"}}},
		{Pod: "web-2", Container: "app", Lines: []pull.OutputLine{{At: second(2), Text: "two"}}},
		{Pod: "web-3", Container: "app", Error: "it has not been started: ImagePullBackOff"},
	}}
	tail, since := 7, second(0)
	stream, err := w.client.Logs(t.Context(), client.LogsOptions{Target: client.TargetOf(shop), ClusterPod: "web-1",
		Container: "app", Tail: &tail, Since: since, Previous: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var got []string
	for {
		line, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text := line.Pod + " " + line.Text + line.Note
		if line.Error != nil {
			text += "! " + line.Error.Detail
		}
		got = append(got, text)
	}
	want := []string{"web-1/app one", "web-2/app two", "web-1/app three",
		"web-3/app ! it has not been started: ImagePullBackOff",
		" 2 older lines were left out"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	asked := []pull.Query{{Pod: "web-1", Container: "app", Tail: 7, Since: since, Previous: true}}
	if diff := cmp.Diff(asked, k.asked); diff != "" {
		t.Error(diff)
	}
}

// TestLogsOfAClusterAreRefused: unsupported options are refused with an alternative, without a query to the cluster;
// and a refusal by the operator names the setting to enable.
func TestLogsOfAClusterAreRefused(t *testing.T) {
	w, k := newShop(t)
	w.apply("web", `{"image":"a"}`)
	few := client.LogsOptions{Target: client.TargetOf(shop)}
	refuse := func(reason pull.RefusalReason) func(*client.LogsOptions) {
		return func(*client.LogsOptions) {
			k.answer = pull.Answer{Refusal: &pull.Refusal{Reason: reason, Message: "the operator says so"}}
		}
	}
	for name, test := range map[string]struct {
		reason string
		ask    func(*client.LogsOptions)
		status int
		want   string
		asks   bool
	}{
		"follow": {"there is no stream from the cluster",
			func(o *client.LogsOptions) { o.Follow, o.ClusterPod = true, "web-1" }, 400, "kubectl --namespace prod logs --follow web-1 --container CONTAINER", false},
		"init": {"containers have one name space", func(o *client.LogsOptions) { o.Init = "x" }, 400,
			"--container NAME shows a container", false},
		"run": {"an application has no runs", func(o *client.LogsOptions) { o.Run = "x" }, 400, "leave out --run", false},
		"pod of Tend": {"a deployment's pods have names of Tend's", func(o *client.LogsOptions) {
			o.Target, o.ClusterPod = client.Target{Kind: api.KindDeployment, Scope: ref("web").Scope, Name: "web"}, "web-1"
		}, 400, "tend logs POD", false},
		"no rights": {"the role is off", refuse(pull.RefusedNotEnabled), 409, "logs.enabled=true", true},
		"nothing":   {"there is no such pod", refuse(pull.RefusedNotFound), 404, "tend describe applicationinstance prod/shop", true},
		"failed":    {"the API server is away", refuse(pull.RefusedFailed), 503, "the operator says so", true},
		"silent": {"nobody answers", func(*client.LogsOptions) {
			k.err = &api.Problem{Status: http.StatusServiceUnavailable, Detail: "not answered within 30s", Next: "x"}
		}, 503, "not answered within 30s", true},
	} {
		k.asked, k.err, k.answer = nil, nil, pull.Answer{}
		opts := few
		test.ask(&opts)
		_, err := w.client.Logs(t.Context(), opts)
		var problem *api.Problem
		if !errors.As(err, &problem) || problem.Status != test.status ||
			!strings.Contains(problem.Detail+problem.Next, test.want) {
			t.Errorf("%s: %s: %v, want %d and %q", name, test.reason, err, test.status, test.want)
		}
		if (len(k.asked) > 0) != test.asks {
			t.Errorf("%s: %s: asked %d times", name, test.reason, len(k.asked))
		}
	}
}

// TestWhoReadsLogsOfACluster: only callers with the right to a scope's logs make the server query the cluster.
func TestWhoReadsLogsOfACluster(t *testing.T) {
	w, k := newShop(t)
	for _, p := range people {
		token := w.person(p.name, p.role, p.life, p.scopes...)
		if p.name == "revoked" {
			w.delete("/tokens/access/revoked")
		}
		for _, query := range []string{"kind=applicationinstance&scope=prod&name=shop", "kind=applicationinstance&name=shop", "name=shop"} {
			k.asked = nil
			may := strings.Contains(" "+readers+" ", " "+p.name+" ")
			response, body := w.ask(token, "GET", "/v1/logs?"+query, "")
			if asked := len(k.asked) > 0; asked != may || may != (response.StatusCode == http.StatusOK) {
				t.Errorf("%s, %s: the cluster was asked: %v; %d %s", p.name, query, asked, response.StatusCode, body)
			}
		}
	}
}
