package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func TestParseAddress(t *testing.T) {
	web := address{kind: api.KindDeployment, scope: "prod", name: "web"}
	cases := map[string]struct {
		reason string
		args   string
		want   address
		rest   []string
		fault  string
	}{
		"KindApart":   {"the kind and the path are two words", "deployment prod/web", web, nil, ""},
		"KindPlural":  {"people type kinds as listings show them", "Deployments prod/web", web, nil, ""},
		"KindInPath":  {"as messages print it", "deployment/prod/web", web, nil, ""},
		"KindTwice":   {"the same kind twice doesn't contradict itself", "deployment deployment/prod/web", web, nil, ""},
		"KindLeftOut": {"where it is unambiguous", "prod/web", address{scope: "prod", name: "web"}, nil, ""},
		"BareName":    {"a name alone", "web", address{name: "web"}, nil, ""},
		"NamedAsKind": {"a lone word is a name, even where it is a kind too", "deployment",
			address{name: "deployment"}, nil, ""},
		"Pod":       {"a pod's name has a dot", "prod-web.1a2b3c4d", address{pod: "prod-web.1a2b3c4d"}, nil, ""},
		"PodWord":   {"a pod may be called one", "pod prod-web.1a2b3c4d", address{pod: "prod-web.1a2b3c4d"}, nil, ""},
		"PodInPath": {"as a path too", "pod/prod-web.1a2b3c4d", address{pod: "prod-web.1a2b3c4d"}, nil, ""},
		"PodsOfObject": {"pods in front of an object means all of its pods", "pods prod/web",
			address{scope: "prod", name: "web"}, nil, ""},
		"Rest": {"what follows is not the address's", "prod/web 3",
			address{scope: "prod", name: "web"}, []string{"3"}, ""},
		"RestAfterKind": {"also behind a kind", "deployment prod/web -- ls", web, []string{"--", "ls"}, ""},
		"Nothing":       {"an address is needed", "", address{}, nil, "name an object"},
		"TwoKinds":      {"contradiction", "deployment job/prod/web", address{}, nil, "names two kinds"},
		"KindOfPod":     {"a pod has no kind", "deployment prod-web.1a2b3c4d", address{}, nil, "is a pod"},
		"UnknownKind":   {"a path of three begins with a kind", "thing/prod/web", address{}, nil, `unknown kind "thing"`},
		"TooDeep":       {"four parts are none", "a/b/c/d", address{}, nil, "is not an address"},
		"EmptyPart":     {"no part is empty", "prod/", address{}, nil, "is not an address"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, rest, err := parseAddress(strings.Fields(tc.args))
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Fatalf("%s: %v, want %q", tc.reason, err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(address{})); diff != "" {
				t.Errorf("%s:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.rest, append([]string(nil), rest...)); diff != "" {
				t.Errorf("%s: rest\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAddressIsReadBack(t *testing.T) {
	for _, a := range []address{
		{name: "web"}, {scope: "prod", name: "web"}, {kind: api.KindDeployment, scope: "prod", name: "web"},
		{pod: "prod-web.1a2b3c4d"},
	} {
		got, rest, err := parseAddress(strings.Fields(a.String()))
		if err != nil || len(rest) != 0 || got != a {
			t.Errorf("%+v prints %q, which reads as %+v, %v, %v", a, a, got, rest, err)
		}
	}
}

func TestAddressMatches(t *testing.T) {
	cases := map[string]struct {
		reason string
		a      address
		want   bool
	}{
		"ByObject":   {"its scope and name", address{scope: "prod", name: "web"}, true},
		"ByName":     {"its name without a scope", address{name: "web"}, true},
		"ByKind":     {"its kind too", address{kind: api.KindDeployment, scope: "prod", name: "web"}, true},
		"OtherName":  {"another name", address{scope: "prod", name: "api"}, false},
		"OtherScope": {"the same name elsewhere", address{scope: "staging", name: "web"}, false},
		"OtherKind":  {"another kind", address{kind: api.KindJob, scope: "prod", name: "web"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.matches(api.KindDeployment, "prod", "web"); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
