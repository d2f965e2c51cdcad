package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/input/manifest"
)

// TestAdoptionWrites: a file is replaced while nobody has changed it, and kept while the project is as it was.
func TestAdoptionWrites(t *testing.T) {
	old, changed := string(signed([]byte("old\n"))), string(signed([]byte("old\n")))+"mine\n"
	cases := map[string]struct {
		reason, have string
		force        bool
		want         string
		says         string
	}{
		"nothing":        {"it is new", "", false, "new", ""},
		"init":           {"`tend init` writes the same again", "plain\n", false, "new", ""},
		"as written":     {"the plan that was shown is applied", old, false, "new", ""},
		"changed":        {"both have changed", changed, false, changed, "and the project too"},
		"changed, force": {"the user said so", changed, true, "new", ""},
		"mine": {"the file is a person's, and fits", string(signed([]byte("new\n"))) + "mine\n", false,
			string(signed([]byte("new\n"))) + "mine\n", "applied as it is"},
		"another": {"the file is a person's", "mine\n", false, "mine\n", "holds something else"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &composeProject{file: filepath.Join(t.TempDir(), ".tend", "shop.hcl"), text: signed([]byte("new\n")),
				plain: []byte("plain\n")}
			p.ask.force = tc.force
			if tc.have != "" {
				if err := errors.Join(os.Mkdir(filepath.Dir(p.file), 0o755),
					os.WriteFile(p.file, []byte(tc.have), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if tc.want == "new" {
				tc.want = string(p.text)
			}
			said, err := p.write()
			if err != nil {
				said = err.Error()
			}
			got, _ := os.ReadFile(p.file)
			if string(got) != tc.want || (said == "") != (tc.says == "") || !strings.Contains(said, tc.says) {
				t.Errorf("%s: it says %q, and the file has\n%s", tc.reason, said, got)
			}
			info, err := os.Stat(p.file)
			if err != nil || tc.want == string(p.text) && info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if left, _ := os.ReadDir(filepath.Dir(p.file)); len(left) != 1 {
				t.Errorf("the folder has %v", left)
			}
		})
	}
}

// TestAdoptionIsComplete: nothing stops unless each object of what stops, and none that was left out, is in the file.
func TestAdoptionIsComplete(t *testing.T) {
	db, job := api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "db"},
		api.Ref{Kind: api.KindJob, Scope: "shop", Name: "migrate"}
	cases := map[string]struct {
		loaded []api.Ref
		want   string
	}{
		"complete": {[]api.Ref{db}, ""},
		"missing":  {nil, "has no deployment/shop/db"},
		"left out": {[]api.Ref{db, job}, "has job/shop/migrate, which is not taken over"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &composeProject{services: []composeService{{name: "db", objects: []api.Ref{db}}},
				dropped: map[api.Ref]string{job: "it runs"}}
			taking := &takingOver{project: p, loaded: manifest.Result{}}
			for _, ref := range tc.loaded {
				taking.loaded.Objects = append(taking.loaded.Objects, api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name})
			}
			_, err := taking.complete()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Error(err)
			}
		})
	}
}

// TestAdoptionHints: the next step has the flags that were given, and the scope that is meant.
func TestAdoptionHints(t *testing.T) {
	p := &composeProject{ask: adoption{files: []string{"a.yaml", "my b.yaml"}, project: "shop_1",
		scope: "prod", undo: true}}
	p.read.Scope = "prod"
	if got, want := p.command("--finish"),
		`tend adopt compose -f a.yaml -f "my b.yaml" -p shop_1 --scope prod --finish`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	elsewhere := takeover.InScope([]takeover.Container{{Name: "shop-db-1.adopted-always.shop"}}, "prod")
	for err, want := range map[error]string{
		elsewhere: "-p shop_1 --scope shop --undo",
		&takeover.WriterError{Writer: volumes.Writer{Source: "v", Container: "c"},
			Scope: "shop"}: "-p shop_1 --scope shop --undo",
		&takeover.WriterError{Writer: volumes.Writer{Source: "v", Container: "c"}}: "docker stop c",
		&takeover.WriterError{Writer: volumes.Writer{Source: "v", Container: "c"},
			Waits: true}: "docker update --restart no c",
	} {
		if got := p.explain(err); got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// TestAdoptionThatWasFinished: if nothing of a project is left, its manifest shows whether an adoption is the reason.
func TestAdoptionThatWasFinished(t *testing.T) {
	p := &composeProject{name: "shop", file: filepath.Join(t.TempDir(), "shop.hcl")}
	if got := p.nothingThere().Error(); !strings.Contains(got, "no container of the Compose project shop") {
		t.Error(got)
	}
	if err := os.WriteFile(p.file, signed([]byte("# nothing\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.nothingThere().Error(); !strings.Contains(got, "Tend runs it already, from "+p.file) ||
		!strings.Contains(got, "tend apply -f "+p.file) {
		t.Error(got)
	}
}
