package reference

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// answers is a lookup that knows one object.
func answers(r api.Reference) (string, error) {
	target, field := r.Target("prod")
	if target == (api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "api"}) && field == "host" {
		return "api.prod", nil
	}
	return "", fmt.Errorf("%s has no %s", target, field)
}

func TestExpand(t *testing.T) {
	spaces := Spaces{api.SpaceRef: answers, api.SpaceAsset: func(r api.Reference) (string, error) {
		asset, file := r.Asset("prod")
		return "/" + asset.Scope + "/" + asset.Name + "/" + file + "${ref.deployment.api.host}", nil
	}}
	for text, tc := range map[string]struct{ reason, want, fault string }{
		"plain":                              {"nothing to replace", "plain", ""},
		"${HOME} $(date) $$":                 {"the shell's own", "${HOME} $(date) $$", ""},
		"http://${ref.deployment.api.host}/": {"in the middle", "http://api.prod/", ""},
		"${ref.deployment.prod.api.host}":    {"with its scope", "api.prod", ""},
		"$${ref.deployment.api.host}":        {"escaped", "${ref.deployment.api.host}", ""},
		"$${spring.port} ${user.home}":       {"the program's own", "$${spring.port} ${user.home}", ""},
		"${asset.site.index}": {"what a lookup gives is not expanded again",
			"/prod/site/index${ref.deployment.api.host}", ""},
		"${asset._.ca.pem}":                     {"an asset without a scope", "/_/ca/pem${ref.deployment.api.host}", ""},
		"${ref.deployment.db.host}":             {"no such object", "", "deployment/prod/db has no host"},
		"${ref.deployment.api.hosts} ${ref.a}":  {"every fault is reported", "", "want ${ref.kind.name.field}"},
		"${refs.deployment.api.host}":           {"a typo", "", "write ${ref.…; or $$${refs.deployment.api.host}"},
		"${ref.deployment.api}":                 {"a field is missing", "", "want ${ref.kind.name.field}"},
		"${ref.thing.api.host}":                 {"no kind", "", `unknown kind "thing"`},
		"${ref.deployment.a b.host}":            {"no name", "", `"a b" is not a name`},
		"${asset.site}":                         {"a key is missing", "", "want ${asset.name.key}"},
		"${ref.deployment.api.host}${ref.a.b.}": {"an empty part", "", `"" is not a name`},
	} {
		got, err := Expand(text, spaces)
		switch {
		case tc.fault == "" && (err != nil || got != tc.want):
			t.Errorf("%s: %q became %q, %v; want %q", tc.reason, text, got, err, tc.want)
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %q: %v; want %q", tc.reason, text, err, tc.fault)
		}
	}
}

// TestEncoded: a value of any characters stands in a URL, and comes back from it.
func TestEncoded(t *testing.T) {
	const password = "p@ss/w:rd %&+?#é"
	spaces := Spaces{api.SpaceConfig: func(api.Reference) (string, error) { return password, nil }}
	got, err := Expand("postgres://app:${config.db.PASSWORD|urlencode}@db/app?x=${config.PASSWORD|urlencode}", spaces)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(got)
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if plain, _ := parsed.User.Password(); plain != password || parsed.Host != "db" ||
		parsed.Query().Get("x") != password {
		t.Errorf("%s became %q at %s, %q", got, plain, parsed.Host, parsed.Query().Get("x"))
	}
	for text, fault := range map[string]string{
		"${config.KEY|upper}": "only |urlencode", "${config.KEY|}": "only |urlencode",
		"${asset.a.b|urlencode}": "only |urlencode",
	} {
		if _, err := Expand(text, Spaces{api.SpaceConfig: spaces[api.SpaceConfig],
			api.SpaceAsset: spaces[api.SpaceConfig]}); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
	if got, err := Expand("$${config.KEY|urlencode}", spaces); err != nil || got != "${config.KEY|urlencode}" {
		t.Errorf("escaped it became %q, %v", got, err)
	}
}

// A reference of a space without a lookup stays for a later pass.
func TestExpandKeepsOtherSpaces(t *testing.T) {
	got, err := Expand("${asset.site.index}:$${asset.site.index}:${ref.deployment.api.host}",
		Spaces{api.SpaceRef: answers})
	if err != nil || got != "${asset.site.index}:$${asset.site.index}:api.prod" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestExpandListsAndMaps(t *testing.T) {
	list, err := ExpandAll([]string{"a", "${ref.deployment.api.host}"}, Spaces{api.SpaceRef: answers})
	if diff := cmp.Diff([]string{"a", "api.prod"}, list); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	texts := map[string]string{"A": "${ref.deployment.api.host}", "B": "b"}
	env, err := ExpandMap(texts, Spaces{api.SpaceRef: answers})
	if diff := cmp.Diff(map[string]string{"A": "api.prod", "B": "b"}, env); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if texts["A"] != "${ref.deployment.api.host}" {
		t.Error("the declared map was written to")
	}
	if _, err := ExpandMap(map[string]string{"A": "${ref.deployment.x.host}", "B": "${ref.deployment.y.host}"},
		Spaces{api.SpaceRef: answers}); err == nil ||
		!strings.Contains(err.Error(), "/x ") || !strings.Contains(err.Error(), "/y ") {
		t.Errorf("not every fault is reported: %v", err)
	}
}

func TestFindAndWalk(t *testing.T) {
	var seen []string
	Walk(map[string]any{"env": map[string]any{"B": "${ref.deployment.api.host}", "A": "$${asset.a.b}"},
		"volumes": []any{"${asset.a.b}:/x", 7.0}},
		func(path, text string) {
			for _, r := range Find(text) {
				seen = append(seen, path+" "+r.Text)
			}
		})
	if diff := cmp.Diff([]string{"env.B ${ref.deployment.api.host}", "volumes[0] ${asset.a.b}"}, seen); diff != "" {
		t.Error(diff)
	}
}

// A text without references comes out unchanged, whatever it contains; and escaping a text's references preserves it.
func TestEscapedTextIsKept(t *testing.T) {
	never := func(r api.Reference) (string, error) { return "", errors.New("asked for " + r.Text) }
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"$", "{", "}", "${", "a", "ref.", ".", "-",
			"${ref.deployment.a.b}", "\n"})).Draw(t, "parts"), "")
		var escaped strings.Builder
		at, plain := 0, true
		for _, r := range api.References(text) {
			if r.Escaped {
				plain = false
				break
			}
			escaped.WriteString(text[at:r.Start] + "$" + r.Text)
			at = r.End
		}
		if !plain {
			return
		}
		escaped.WriteString(text[at:])
		if got, err := Expand(escaped.String(), Spaces{api.SpaceRef: never}); err != nil || got != text {
			t.Fatalf("%q came out as %q, %v", text, got, err)
		}
	})
}

// TestEscape: an escaped text expands to the original, without a lookup.
func TestEscape(t *testing.T) {
	spaces := Spaces{api.SpaceRef: func(r api.Reference) (string,
		error) {
		return "", fmt.Errorf("%s was looked up", r.Text)
	}}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"$", "${", "}", "ref.deployment.api.host", "REFS.x", "asset.a.b",
			"${ref.a.b.c}", "x"}))
		text := strings.Join(parts.Draw(t, "parts"), "")
		escaped := Escape(text, api.SpaceRef)
		if got, err := Expand(escaped, spaces); got != text || err != nil {
			t.Fatalf("%q was escaped as %q and became %q, %v", text, escaped, got, err)
		}
	})
}
