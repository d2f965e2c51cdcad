package env

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func TestDifferences(t *testing.T) {
	plain := api.Container{}
	file := func(key string) api.Container { return api.Container{SecretFiles: map[string]string{"/run/s": key}} }
	variable := func(text string) api.Container { return api.Container{Env: map[string]string{"URL": text}} }
	for name, tc := range map[string]struct {
		reason    string
		then, now Taken
		want      string
	}{
		"nothing": {"equal values", Taken{plain, map[string]string{"A": "1"}},
			Taken{plain, map[string]string{"A": "1"}}, ""},
		"each way": {"sorted by key", Taken{plain, map[string]string{"A": "1", "C": "1"}},
			Taken{plain, map[string]string{"A": "2", "B": "1"}}, "A changed, B added, C removed"},
		"empty": {"an empty value is a value", Taken{plain, map[string]string{"A": ""}},
			Taken{plain, nil}, "A removed"},
		"secret file": {"named by its key", Taken{file("TLS"), map[string]string{"=/run/s": "1"}},
			Taken{file("TLS"), map[string]string{"=/run/s": "2"}}, "TLS changed"},
		"another key": {"the manifest names another key", Taken{file("A"), map[string]string{"=/run/s": "1"}},
			Taken{file("B"), map[string]string{"=/run/s": "2"}}, ""},
		"becomes a file": {"the manifest holds it back", Taken{plain, map[string]string{"A": "1"}},
			Taken{file("A"), map[string]string{"=/run/s": "1"}}, ""},
		"a reference": {"the value behind it changed", Taken{variable("${config.P}"), map[string]string{"URL": "1"}},
			Taken{variable("${config.P}"), map[string]string{"URL": "2"}}, "URL changed"},
		"the manifest's": {"its text changed", Taken{variable("1"), map[string]string{"URL": "1"}},
			Taken{variable("2"), map[string]string{"URL": "2"}}, ""},
		"no more in it": {"the manifest dropped it", Taken{variable("1"), map[string]string{"URL": "1"}},
			Taken{plain, nil}, ""},
		"a build's secret": {"the manifest holds it back", Taken{plain, map[string]string{"A": "1"}},
			Taken{api.Container{Build: &api.Build{Secrets: []string{"A"}}}, nil}, ""},
	} {
		if diff := cmp.Diff(tc.want, Differences(tc.then, tc.now).String()); diff != "" {
			t.Errorf("%s: %s:\n%s", name, tc.reason, diff)
		}
	}
}
