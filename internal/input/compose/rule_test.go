package compose

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlacesOf(t *testing.T) {
	for rule, tc := range map[string]struct{ reason, want, fault string }{
		"Host(`a.example`)":                                   {"a host", "a.example", ""},
		"Host(\"A.example\")":                                 {"other quotes, upper case", "a.example", ""},
		"Host(`a`) || Host(`b`)":                              {"alternatives", "a b", ""},
		"Host(`a`, `b`)":                                      {"alternatives in one matcher", "a b", ""},
		"Host(`a`) && PathPrefix(`/x`)":                       {"a path", "a/x", ""},
		"PathPrefix(`/x`) && Host(`a`)":                       {"in the other order", "a/x", ""},
		"Host(`a`) && (PathPrefix(`/x`) || PathPrefix(`/y`))": {"paths", "a/x a/y", ""},
		"(Host(`a`) || Host(`b`)) && PathPrefix(`/x`)":        {"hosts of one path", "a/x b/x", ""},
		"Host(`a`) || Host(`b`) && PathPrefix(`/x`)":          {"&& binds closer", "a b/x", ""},
		"Host(`a`) && Path(`/x`)":                             {"one path alone", "a/x", ""},
		"PathPrefix(`/x`)":                                    {"every host", "", "it names no host"},
		"Host(`a`) && Host(`b`)":                              {"no request has both", "", "two hosts"},
		"Host(`a`) && PathPrefix(`/x`) && PathPrefix(`/y`)":   {"no ingress has both", "", "two paths"},
		"Host(`a`) && Headers(`X`, `y`)":                      {"a header", "", "an ingress has no Headers"},
		"Host(`a`) && !PathPrefix(`/x`)":                      {"a path that is left out", "", "no ! (not)"},
		"HostRegexp(`.+`)":                                    {"a pattern", "", "an ingress has no HostRegexp"},
		"Host(`a`":                                            {"cut off", "", "isn't between backquotes"},
		"Host(a)":                                             {"no quotes", "", "isn't between backquotes"},
		"Host(`a)":                                            {"a quote that isn't closed", "", "isn't closed"},
		"(Host(`a`)": {"a parenthesis that isn't closed", "",
			"a parenthesis isn't closed"},
		"Host(`a`) Host(`b`)":                 {"two without a word between", "", "is not understood"},
		"":                                    {"nothing", "", "is not understood"},
		strings.Repeat("(", 99) + "Host(`a`)": {"too deep", "", "too deep"},
		"Host(`a`)" + strings.Repeat(" && (Path(`/x`) || Path(`/y`))", 9): {"too many alternatives", "", "more than 64"},
	} {
		found, _, err := placesOf(rule)
		var places []string
		for _, at := range found {
			places = append(places, at.host+at.path)
		}
		got := strings.Join(places, " ")
		if tc.fault == "" && (err != nil || got != tc.want) ||
			tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
			t.Errorf("%s: %s: %q, %v; want %q %s", rule, tc.reason, got, err, tc.want, tc.fault)
		}
	}
}

// FuzzRule parses arbitrary rules: every place of a valid one has a host.
func FuzzRule(f *testing.F) {
	for _, rule := range []string{"Host(`a`) && (PathPrefix(`/x`) || Path(`/y`))", "!Host(`a`)", "Host(`a`,", "((`"} {
		f.Add(rule)
	}
	f.Fuzz(func(t *testing.T, rule string) {
		found, _, err := placesOf(rule)
		if err == nil && len(found) == 0 {
			t.Fatalf("%q leads nowhere", rule)
		}
		for _, at := range found {
			if err == nil && at.host == "" && !strings.Contains(rule, "``") && !strings.Contains(rule, `""`) &&
				!strings.Contains(rule, "''") {
				t.Fatalf("%q: %s has no host", rule, fmt.Sprint(at))
			}
		}
	})
}
