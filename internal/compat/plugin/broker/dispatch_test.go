package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
)

func TestCommandActions(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/plugin.yml": "aliases: [k]\n", "kv/bin/go": answers(`{"message":"m","actions":[
	  {"type":"config_set","scope":"prod","name":"web","kv":{"A":"1","B":"2"}},
	  {"type":"config_unset","scope":"prod","name":"web","keys":["A","NEVER"]},
	  {"type":"apply_manifest","manifest":{"kind":"job","scope":"prod","name":"backup","spec":{"image":"a:1","_asset_digests":{}}},"summary":"make the job"},
	  {"type":"run_job","scope":"prod","name":"backup"},
	  {"type":"delete_manifest","scope":"prod","name":"gone","kind":"job"},
	  {"type":"exec_local","command":["psql","-h","x"]},
	  {"type":"fetch_file","remote_path":"/b/1","dest_path":"1.dump","size_bytes":9}]}`)})
	result, revision, err := w.broker.Call(t.Context(), broker.Command{Plugin: "k", Name: "go", Actor: "tester"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := api.PluginResult{
		Message: "m", Applied: []string{"set A, B of prod/web", "unset A, NEVER of prod/web", "make the job",
			"run prod/backup", "delete job/prod/gone"},
		ExecLocal: []api.ExecLocal{{Command: []string{"psql", "-h", "x"}}},
		FetchFile: []api.FetchFile{{RemotePath: "/b/1", DestPath: "1.dump", SizeBytes: 9}},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	w.settle(revision)
	if diff := cmp.Diff(map[string]string{"B": "2"}, w.config("prod", "web")); diff != "" {
		t.Error(diff)
	}
	if runs := w.snapshot().Runs(api.Ref{Kind: api.KindJob, Scope: "prod", Name: "backup"}); len(runs) != 1 ||
		runs[0].Value.By != "tester through the plugin kv" {
		t.Errorf("the runs are %+v", runs)
	}
}

// A manifest's own scope and name are where it is stored; the action's may name the object it is stored for.
func TestAppliedManifestsNameThemselves(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/go": answers(`{"actions":[
	  {"type":"apply_manifest","scope":"ops","name":"main","manifest":{"kind":"job","scope":"prod","name":"main.bk.b001","spec":{"image":"a:1"}}},
	  {"type":"apply_manifest","scope":"prod","name":"plain","manifest":{"kind":"job","spec":{"image":"a:1"}}}]}`)})
	result, revision, err := w.broker.Call(t.Context(),
		broker.Command{Plugin: "kv", Name: "go", Within: []string{"prod"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"apply job/prod/main-bk-b001", "apply job/prod/plain"}, result.Applied); diff != "" {
		t.Error(diff)
	}
	w.settle(revision)
	for name, want := range map[string]bool{"prod/main-bk-b001": true, "prod/plain": true, "ops/main": false,
		"prod/main": false} {
		scope, name, _ := strings.Cut(name, "/")
		if there := w.snapshot().Object(api.Ref{Kind: api.KindJob, Scope: scope, Name: name}).Exists(); there != want {
			t.Errorf("job %s/%s there: %v, want %v", scope, name, there, want)
		}
	}
}

// listening notes how config was changed.
type listening struct {
	broker.Verbs
	quiet []bool
}

func (l *listening) SetConfig(
	ctx context.Context, bucket verbs.Bucket, change verbs.ConfigChange,
) (api.ConfigResult, error) {
	l.quiet = append(l.quiet, change.Quiet)
	return l.Verbs.SetConfig(ctx, bucket, change)
}

// skip_restart changes config without restarts; the config actions of expand never restart anything, since the apply
// follows.
func TestSkipRestart(t *testing.T) {
	loud, quiet := `{"type":"config_set","scope":"prod","name":"cache","kv":{"A":"1"}}`,
		`{"type":"config_set","scope":"prod","name":"cache","kv":{"B":"1"},"skip_restart":true}`
	w := newWorld(t, map[string]string{"kv/bin/go": answers(`{"actions":[` + loud + `,` + quiet + `]}`),
		"kv/bin/expand": answers(`{"manifests":[{"kind":"deployment","name":"x","spec":{"image":"a:1"}}],"actions":[` +
			strings.ReplaceAll(loud, `"1"`, `"2"`) + `]}`)})
	ears := &listening{Verbs: w.verbs}
	w.broker.Verbs = ears
	if _, _, err := w.broker.Call(t.Context(), broker.Command{Plugin: "kv", Name: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(cache, verbs.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{false, true, true}, ears.quiet); diff != "" {
		t.Error(diff)
	}
}

// The first failing action ends the command, and the error lists the actions done before.
func TestActionFails(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/go": answers(`{"actions":[
	  {"type":"config_set","scope":"prod","name":"web","kv":{"A":"1"}},
	  {"type":"run_job","scope":"prod","name":"nothing"},
	  {"type":"config_set","scope":"prod","name":"web","kv":{"B":"1"}}]}`)})
	_, _, err := w.broker.Call(t.Context(), broker.Command{Plugin: "kv", Name: "go"}, nil)
	var failed *broker.ActionError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "run prod/nothing") ||
		!strings.Contains(err.Error(), "kept: set A of prod/web") {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"A": "1"}, w.config("prod", "web")); diff != "" {
		t.Error(diff)
	}
}

// A caller that may only access one scope can't change another.
func TestWithin(t *testing.T) {
	w := newWorld(t,
		map[string]string{"kv/bin/go": answers(`{"actions":[{"type":"config_set","scope":"prod","name":"a","kv":{"A":"1"}},{"type":"config_set","scope":"other","name":"a","kv":{"A":"1"}}]}`)})
	before := w.stored()
	_, _, err := w.broker.Call(t.Context(), broker.Command{Plugin: "kv", Name: "go", Within: []string{"prod"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "not allowed to access the scope other") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, w.stored()); diff != "" {
		t.Errorf("something was done: %s", diff)
	}
}

// The callback URL is open while the plugin runs, for the scopes its arguments name.
func TestEndpoint(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/go": `echo "$TEND_CONTROLLER_URL"`})
	var scopes []string
	open := false
	result, _, err := w.broker.Call(t.Context(),
		broker.Command{Plugin: "kv", Name: "go",
			Args: []string{"prod/a", "--from=dev/b", "x", "https://e.org/x", "prod/c.0", "a/b/c"}},
		func(_ context.Context, asked []string) (string, func(), error) {
			scopes, open = asked, true
			return "http://endpoint", func() { open = false }, nil
		})
	if diff := cmp.Diff([]string{"prod", "dev"}, scopes); diff != "" || open ||
		result.Message != "http://endpoint\n" || err != nil {
		t.Errorf("open %v, %q, %v\n%s", open, result.Message, err, diff)
	}
}

func TestList(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/plugin.yml": "version: 1\ncommands: [{name: go, help: goes}]\n",
		"kv/bin/go": "", "bad/plugin.yml": "["})
	got, err := w.broker.List()
	if err != nil || len(got) != 2 || got[0].Error == "" || got[1].Name != "kv" {
		t.Fatalf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]api.PluginCommand{{Name: "go", Help: "goes"}}, got[1].Commands); diff != "" {
		t.Error(diff)
	}
}
