package api

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhereFilesOfAssetsMayBeUsed(t *testing.T) {
	const file = "${asset.conf.nginx}"
	for spec, tc := range map[string]struct{ reason, fault string }{
		`"volumes":["` + file + `:/etc/nginx.conf"]`:                   {"as a file", ""},
		`"volumes":["${asset.other.conf.nginx}:/etc/nginx.conf:ro,z"]`: {"of another scope, with a mode", ""},
		`"volumes":["` + file + `:/etc/nginx.conf:rw"]`:                {"never writable", "mounted read-only"},
		`"volumes":["` + file + `/sub:/etc"]`:                          {"a file has nothing below it", "nothing else"},
		`"volumes":["/data/` + file + `:/etc"]`:                        {"nor before it", "nothing else"},
		`"volumes":["` + file + `:/a","` + file +
			`:/a/"]`: {"targets are still distinct", "the target of volumes[0] already"},
		`"env":{"CONF":"` + file + `"}`:                                      {"its path in a variable", ""},
		`"command":["sh","` + file + `"]`:                                    {"its path in a command", ""},
		`"labels":{"conf":"` + file + `"}`:                                   {"its path in a label", ""},
		`"docker_options":["-v","` + file + `:/x:ro"]`:                       {"in a flag", ""},
		`"inits":[{"name":"a","command":["` + file + `"]}]`:                  {"in an init's command", ""},
		`"inits":[{"name":"a","image":"` + file + `","command":["x"]}]`:      {"but not its image", "not replaced here"},
		`"release":{"command":["` + file + `"]}`:                             {"in a release's command", ""},
		`"on_deploy":{"success":[{"url":"http://a","file":"` + file + `"}]}`: {"what a webhook sends", ""},
		`"on_deploy":{"success":[{"url":"http://a/` + file + `"}]}`:          {"not where it is sent", "not replaced here"},
		`"extra_hosts":["a:` + file + `"]`: {"a path is not an address",
			"not replaced here"},
		`"hostname":"` + file + `"`:                                 {"nor a name", "not replaced here"},
		`"env":{"A":"${asset.conf}"}`:                               {"a key is missing", "want ${asset.name.key}"},
		`"depends_on":{"assets":["conf.nginx","other.conf.nginx"]}`: {"without a field", ""},
		`"depends_on":{"assets":["conf"]}`:                          {"a key is missing", "name.key"},
		`"image":"` + file + `"`:                                    {"no image", "not replaced here"},
	} {
		if !strings.Contains(spec, `"image"`) || strings.Contains(spec, `"inits"`) {
			spec = `"image":"web",` + spec
		}
		faults := ValidateObject(Object{Kind: KindDeployment, Scope: "prod", Name: "web",
			Spec: json.RawMessage("{" + spec + "}")})
		text := ""
		for _, fault := range faults {
			text += fault.Error() + "\n"
		}
		if (tc.fault == "") != (len(faults) == 0) || !strings.Contains(text, tc.fault) {
			t.Errorf("%s: %s: %q, want %q", tc.reason, spec, text, tc.fault)
		}
	}
}

func TestAssetTextsAreLiteral(t *testing.T) {
	spec := json.RawMessage(`{"files":{"nginx":"proxy_pass ${ref.x} ${asset.a.b} $${c.d};"}}`)
	if faults := ValidateObject(Object{Kind: KindAsset, Scope: Unscoped, Name: "conf", Spec: spec}); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestFilesOfAnAssetAreBounded(t *testing.T) {
	for count, fault := range map[int]string{MaxAssetFiles: "", MaxAssetFiles + 1: "has 10001 files, at most 10000"} {
		files := map[string]string{}
		for i := range count {
			files[strconv.Itoa(i)] = ""
		}
		spec, _ := json.Marshal(map[string]any{"files": files})
		faults := ValidateObject(Object{Kind: KindAsset, Scope: "prod", Name: "conf", Spec: spec})
		if (fault == "") != (len(faults) == 0) || len(faults) > 0 && !strings.Contains(faults[0].Error(), fault) {
			t.Errorf("%d files: %v, want %q", count, faults, fault)
		}
	}
}

func TestAssetKey(t *testing.T) {
	there := map[string]bool{"prod.conf.a": true, "_.conf.a": true, "_.conf.b": true, "other.conf.c": true}
	for text, want := range map[string]string{
		"${asset.conf.a}":       "prod.conf.a",
		"${asset.conf.b}":       "_.conf.b",
		"${asset._.conf.a}":     "_.conf.a",
		"${asset.other.conf.c}": "other.conf.c",
		"${asset.conf.c}":       "",
		"${asset.prod.conf.b}":  "",
	} {
		key, ok := AssetKey(References(text)[0], "prod", func(key string) bool { return there[key] })
		if ok != (want != "") || ok && key != want {
			t.Errorf("%s is %s, %v; want %q", text, key, ok, want)
		}
	}
}

func TestStandIn(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "-v=${asset.a.b}:/x:ro": "-v=/asset/a.b:/x:ro",
		"$${asset.a.b} ${ref.deployment.a.host}": "$${asset.a.b} ${ref.deployment.a.host}",
		"${asset.a.b}${asset.s.a.b}":             "/asset/a.b/asset/s.a.b",
	} {
		if got := StandIn(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestRegistryHost(t *testing.T) {
	for url, want := range map[string]string{
		"ghcr.io": "ghcr.io", "https://GHCR.io/": "ghcr.io", "registry.local:5000": "registry.local:5000",
		"https://index.docker.io/v1/": "docker.io", "docker.io": "docker.io", "registry-1.docker.io": "docker.io",
	} {
		if got := (RegistrySpec{URL: url}).Host(); got != want {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
}

func TestValidateRegistry(t *testing.T) {
	for spec, fault := range map[string]string{
		`{"url":"ghcr.io","username":"a","token":"b"}`:                     "",
		`{"url":"ghcr.io","username":"a","password":"b"}`:                  "",
		`{"url":"x.dkr.ecr.eu-west-1.amazonaws.com","helper":"ecr-login"}`: "",
		`{"url":"ghcr.io","token":"b"}`:                                    "go together",
		`{"url":"ghcr.io","helper":"a","username":"b","token":"c"}`:        "exclude each other",
		`{"url":"ghcr.io","helper":"ecr"}`:                                 "write ecr-login",
		`{"url":"ghcr.io","helper":"../x"}`:                                "suffix of a docker-credential",
		`{"url":"","helper":"x"}`:                                          "is not a registry's host",
		`{"url":"a b","helper":"x"}`:                                       "is not a registry's host",
		`{"url":"ghcr.io","username":"a:b","token":"c"}`:                   "holds a colon",
		`{"url":"ghcr.io","username":"a","token":"b\nc"}`:                  "one line each",
	} {
		faults := ValidateObject(Object{Kind: KindRegistry, Scope: Unscoped, Name: "r", Spec: json.RawMessage(spec)})
		if (fault == "") != (len(faults) == 0) || len(faults) > 0 && !strings.Contains(faults[0].Error(), fault) {
			t.Errorf("%s: %v, want %q", spec, faults, fault)
		}
	}
}

func TestAFileIsATextOrAnObject(t *testing.T) {
	raw := `{"files":{"a":"text","b":{"_source":"url","url":"https://x","timeout":"5s","on_failure":"error"},"c":{"_source":"file","content":"aGk=","filename":"hi"}}}`
	var spec AssetSpec
	if err := json.Unmarshal([]byte(raw), &spec); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal([]byte(raw), &a) != nil || json.Unmarshal(again, &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("it became %s", again)
	}
}
