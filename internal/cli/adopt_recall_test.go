package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/runtime/docker"
)

// recalling returns a takeover of a project whose server has some objects, all of them good.
func recalling(t *testing.T, p *composeProject, stored ...api.Object) *takingOver {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(value any) { _ = json.NewEncoder(w).Encode(value) }
		switch path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/objects/"), "/"); {
		case r.Method == http.MethodPost:
			answer(api.AwaitResult{Outcomes: []api.Outcome{{State: api.OutcomeConverged}}})
		case len(path) == 1:
			answer(api.ListResult[api.Object]{Items: slices.DeleteFunc(slices.Clone(stored),
				func(o api.Object) bool { return string(o.Kind) != path[0] })})
		default:
			at := slices.IndexFunc(stored, func(o api.Object) bool {
				return len(path) == 3 && o.Ref() == api.Ref{Kind: api.Kind(path[0]), Scope: path[1], Name: path[2]}
			})
			if at < 0 {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusNotFound)
				answer(api.Problem{Status: http.StatusNotFound, Title: "not found"})
				return
			}
			answer(stored[at])
		}
	}))
	t.Cleanup(server.Close)
	a := &app{server: server.URL, streams: streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}}
	c, err := a.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p.name, p.read.Scope = "shop", "shop"
	return &takingOver{app: a, client: c, project: p}
}

func storedObject(kind api.Kind, name, spec string) api.Object {
	return api.Object{Kind: kind, Scope: "shop", Name: name, Spec: json.RawMessage(spec),
		Metadata: api.Metadata{UID: name, Revision: 1, Generation: 1}}
}

// TestAdoptionKeepsWhatTendRuns: the containers of db and web are gone since --finish. cache is new, and waits for db.
// What Tend has stays declared as the file has it: the next apply with --prune would delete it otherwise.
func TestAdoptionKeepsWhatTendRuns(t *testing.T) {
	const db = "# Mine.\ndeployment \"shop\" \"db\" {\n  image = \"db:2\"\n}"
	const web = "deployment \"shop\" \"web\" {\n  image = \"w\"\n}"
	changed := string(signed(nil))[:40] + "\n# A file.\n\n"
	declared := db + "\n\n" + web + "\n"
	inTend := []api.Object{storedObject(api.KindDeployment, "db", `{}`), storedObject(api.KindDeployment, "web", `{}`)}
	cases := map[string]struct {
		reason, have string
		stored       []api.Object
		force        bool
		keeps, drops []string
		says         string
	}{
		"as written": {"nobody has changed it", string(signed([]byte(declared))), inTend, false,
			[]string{db, web}, nil, ""},
		"changed": {"it is added to", changed + declared, inTend, false, []string{db, web, "# A file."}, nil, ""},
		"one was deleted": {"its service may come back", string(signed([]byte(declared))), inTend[:1], false,
			[]string{db}, []string{web}, ""},
		"changed, deleted": {"what would be lost, a person must say", changed + declared, inTend[:1], false, nil, nil,
			"and the project too"},
		"forced": {"a person has said it", changed + declared, inTend[:1], true, []string{db}, []string{web}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &composeProject{keeps: map[string][]string{}, notes: map[string][]string{}, dropped: map[api.Ref]string{},
				file: filepath.Join(t.TempDir(), "shop.hcl")}
			p.ask.force = tc.force
			for name, spec := range map[string]string{"db": `{"image":"db:1"}`, "web": `{"image":"w"}`,
				"cache": `{"image":"c","depends_on":{"workloads":["deployment/db"]}}`} {
				p.read.Sections = append(p.read.Sections, manifest.Section{Object: api.Object{
					Kind: api.KindDeployment, Scope: "shop", Name: name, Spec: json.RawMessage(spec)}})
			}
			taking := recalling(t, p, tc.stored...)
			err := errors.Join(os.WriteFile(p.file, []byte(tc.have), 0o600),
				p.fit([]docker.ComposeContainer{container("cache", "shop-cache-1", true, "shop_cache")}),
				taking.recall(t.Context(), takeover.Adopt), p.unfit())
			if err == nil {
				_, err = p.write()
			}
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			got, _ := os.ReadFile(p.file)
			if err != nil {
				if string(got) != tc.have {
					t.Errorf("%s: the file has\n%s", tc.reason, got)
				}
				return
			}
			for _, text := range append(tc.keeps, `"cache" {`) {
				if strings.Count(string(got), text) != 1 {
					t.Errorf("%s: %q is not there once:\n%s", tc.reason, text, got)
				}
			}
			for _, text := range tc.drops {
				if strings.Contains(string(got), text) {
					t.Errorf("%s: %q is there:\n%s", tc.reason, text, got)
				}
			}
			if _, untouched, _ := signature(got); !untouched {
				t.Errorf("%s: the next run finds it changed:\n%s", tc.reason, got)
			}
			if len(p.kept) != len(tc.stored) || len(p.left) != 2-len(tc.stored) {
				t.Errorf("%s: kept %v, left %v", tc.reason, p.kept, p.left)
			}
		})
	}
}

// TestAdoptionKeepsWhatHasRun: a migration that was adopted, and whose container is gone, is not applied again: that
// would run it once more. One whose container is there, and one that Tend doesn't have, are taken over.
func TestAdoptionKeepsWhatHasRun(t *testing.T) {
	const migrate = "job \"shop\" \"migrate\" {\n  image = \"mine\"\n}"
	db, ran := container("db", "shop-db-1", true, "shop_data"), container("migrate", "shop-migrate-1", false, "shop_m")
	inTend := []api.Object{storedObject(api.KindJob, "migrate", `{}`)}
	for name, tc := range map[string]struct {
		containers []docker.ComposeContainer
		stored     []api.Object
		kept       bool
	}{
		"it has run":             {[]docker.ComposeContainer{db}, inTend, true},
		"its container is there": {[]docker.ComposeContainer{db, ran}, inTend, false},
		"Tend doesn't have it":   {[]docker.ComposeContainer{db}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := fitted(t, tc.containers...)
			p.file = filepath.Join(t.TempDir(), "shop.hcl")
			taking := recalling(t, p, tc.stored...)
			if err := errors.Join(err, os.WriteFile(p.file, signed([]byte(migrate+"\n")), 0o600),
				taking.recall(t.Context(), takeover.Adopt)); err != nil {
				t.Fatal(err)
			}
			taken := slices.ContainsFunc(p.services, func(s composeService) bool { return s.name == "migrate" })
			if taken == tc.kept || strings.Contains(string(p.text), migrate) != tc.kept ||
				strings.Count(string(p.text), `"migrate" {`) != 1 || !strings.Contains(string(p.text), `"db" {`) {
				t.Errorf("taken over %v, and the manifests are\n%s", taken, p.text)
			}
		})
	}
}

// TestGivesBackWhatTheFilesNoLongerHave: since the adoption web was taken out of the files, and api became a job in
// them. Both are given back, and finished, with the others, by their containers and their objects.
func TestGivesBackWhatTheFilesNoLongerHave(t *testing.T) {
	marked := func(service string) docker.ComposeContainer {
		return container(service, "shop-"+service+"-1.adopted-no.shop", false, "shop_"+service)
	}
	containers := []docker.ComposeContainer{marked("db"), marked("web"), marked("migrate")}
	stored := []api.Object{storedObject(api.KindDeployment, "db", `{}`), storedObject(api.KindDeployment, "web", `{}`),
		storedObject(api.KindDeployment, "migrate", `{}`), storedObject(api.KindIngress, "shop-example", `{"service":"web"}`),
		storedObject(api.KindIngress, "other", `{"service":"other"}`)}
	for name, tc := range map[string]struct {
		goal   takeover.Goal
		stored []api.Object
		want   string
		refs   string
	}{
		"undo": {takeover.Undo, stored, "withdraw web start shop-web-1.adopted-no.shop " +
			"rename shop-web-1.adopted-no.shop to shop-web-1 withdraw migrate start shop-migrate-1.adopted-no.shop " +
			"rename shop-migrate-1.adopted-no.shop to shop-migrate-1 withdraw db start shop-db-1.adopted-no.shop " +
			"rename shop-db-1.adopted-no.shop to shop-db-1", "deployment/shop/web, ingress/shop/shop-example"},
		"undo, goes on": {takeover.Undo, stored[:1], "start shop-web-1.adopted-no.shop " +
			"rename shop-web-1.adopted-no.shop to shop-web-1 start shop-migrate-1.adopted-no.shop " +
			"rename shop-migrate-1.adopted-no.shop to shop-migrate-1 withdraw db start shop-db-1.adopted-no.shop " +
			"rename shop-db-1.adopted-no.shop to shop-db-1", "deployment/shop/web"},
		"finish": {takeover.Finish, stored, "remove shop-db-1.adopted-no.shop remove shop-migrate-1.adopted-no.shop " +
			"remove shop-web-1.adopted-no.shop", "deployment/shop/web, ingress/shop/shop-example"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &composeProject{keeps: map[string][]string{}, notes: map[string][]string{}, dropped: map[api.Ref]string{}}
			p.ask.undo, p.ask.finish = tc.goal == takeover.Undo, tc.goal == takeover.Finish
			for kind, name := range map[api.Kind]string{api.KindDeployment: "db", api.KindJob: "migrate"} {
				p.read.Sections = append(p.read.Sections, manifest.Section{Object: storedObject(kind, name, `{"image":"i"}`)})
			}
			taking := recalling(t, p, tc.stored...)
			if err := errors.Join(p.fit(containers), taking.recall(t.Context(), tc.goal)); err != nil {
				t.Fatal(err)
			}
			services, err := taking.observed(t.Context(), p.containers)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := takeover.Plan("shop", services, tc.goal)
			var got []string
			for _, step := range steps {
				got = append(got, step.String())
			}
			if text := strings.Join(got, " "); err != nil || text != tc.want {
				t.Errorf("%v\n%s, want\n%s", err, text, tc.want)
			}
			if got := words(taking.refs([]string{"web"})); got != tc.refs {
				t.Errorf("the objects of web are %s, want %s", got, tc.refs)
			}
			if tc.goal == takeover.Finish && p.unfinished(services) != nil {
				t.Error(p.unfinished(services))
			}
		})
	}
}

// TestFinishNamesWhatTendDoesNotRun: of a service that is in neither, the old container is the last trace.
func TestFinishNamesWhatTendDoesNotRun(t *testing.T) {
	web := container("web", "shop-web-1.adopted-no.shop", false, "shop_web")
	p := &composeProject{keeps: map[string][]string{}, notes: map[string][]string{}, dropped: map[api.Ref]string{}}
	p.ask.finish = true
	taking := recalling(t, p)
	if err := errors.Join(p.fit([]docker.ComposeContainer{web}), taking.recall(t.Context(), takeover.Finish)); err != nil {
		t.Fatal(err)
	}
	services, err := taking.observed(t.Context(), p.containers)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.unfinished(services); err == nil || !strings.Contains(err.Error(), "docker rm shop-web-1.adopted-no.shop") {
		t.Error(err)
	}
}
