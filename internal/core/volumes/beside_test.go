package volumes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
)

func object(kind api.Kind, name, spec string) api.Object {
	return api.Object{Kind: kind, Scope: "prod", Name: name, Spec: json.RawMessage(spec)}
}

// TestBoth: which two objects write to one volume or folder without having declared it.
func TestBoth(t *testing.T) {
	const d, s = api.KindDeployment, api.KindStatefulSet
	for name, tc := range map[string]struct {
		reason string
		a, b   api.Object
		want   string
	}{
		"one volume": {"neither knows of the other",
			object(d, "a", `{"volumes":["db:/a"]}`), object(d, "b", `{"volumes":["xx:/x","db:/b"]}`), "db"},
		"one reads": {"a reader breaks nothing",
			object(d, "a", `{"volumes":["db:/a"]}`), object(d, "b", `{"volumes":["db:/b:ro"]}`), ""},
		"one label": {"it is declared for several",
			object(d, "a", `{"volumes":["db:/a"],"labels":{"dev.tend.shared-volumes":"db"}}`),
			object(d, "b", `{"volumes":["db:/b"]}`), ""},
		"folder": {"written differently", object(d, "a", `{"volumes":["/srv/x/:/a"]}`),
			object(d, "b", `{"docker_options":["-v","/srv//x:/b"]}`), "/srv/x"},
		"socket": {"no data", object(d, "a", `{"volumes":["/var/run/docker.sock:/s"]}`),
			object(d, "b", `{"volumes":["/var/run/docker.sock:/s"]}`), ""},
		"no pods": {"nothing runs",
			object(d, "a", `{"replicas":0,"volumes":["db:/a"]}`), object(d, "b", `{"volumes":["db:/b"]}`), ""},
		"job": {"it writes while it runs",
			object(api.KindJob, "a", `{"volumes":["db:/a"]}`), object(d, "b", `{"volumes":["db:/b"]}`), "db"},
		"claim": {"the volume of an ordinal has a name too",
			object(s, "db", `{"replicas":2,"volume_claims":[{"name":"data","mount_path":"/d"}]}`),
			object(d, "b", `{"volumes":["tend-prod-db-data-1:/b"]}`), "tend-prod-db-data-1"},
		"itself": {"replicas are another warning",
			object(d, "a", `{"volumes":["db:/a"]}`), object(d, "a", `{"volumes":["db:/a"]}`), ""},
		"no pods at all": {"an ingress has none",
			object(api.KindIngress, "a", `{"volumes":["db:/a"]}`), object(d, "b", `{"volumes":["db:/b"]}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := volumes.UseOf(tc.a).Both(volumes.UseOf(tc.b)); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
			if got := volumes.UseOf(tc.b).Both(volumes.UseOf(tc.a)); got != tc.want {
				t.Errorf("the other way round: %q, want %q", got, tc.want)
			}
		})
	}
}

// TestMoved: a place whose data is no longer there is named, with where it is.
func TestMoved(t *testing.T) {
	const s = api.KindStatefulSet
	for name, tc := range map[string]struct {
		reason        string
		before, after string
		want          []string // parts of each warning
	}{
		"same": {"nothing moves", `{"volumes":["aa:/d"]}`, `{"volumes":["aa:/d:z"]}`, nil},
		"volume": {"the new one is another", `{"volumes":["aa:/d"]}`, `{"volumes":["bb:/d"]}`,
			[]string{"/d is the volume bb now|stays in the volume aa|-v aa:/from:ro -v bb:/to"}},
		"claim": {"each ordinal's", `{"volume_claims":[{"name":"d","mount_path":"/d"}]}`,
			`{"volume_claims":[{"name":"e","mount_path":"/d"}]}`,
			[]string{"volume_claim: /d is the claim e (volume tend-prod-db-e-0) now|stays in the claim d (volume tend-prod-db-d-0)"}},
		"elsewhere": {"renamed and mounted elsewhere", `{"volumes":["aa:/d"]}`, `{"volumes":["bb:/e"]}`,
			[]string{"/e is the volume bb now"}},
		"path":    {"the data comes along", `{"volumes":["aa:/d"]}`, `{"volumes":["aa:/e"]}`, nil},
		"swapped": {"both have their data", `{"volumes":["aa:/d","bb:/e"]}`, `{"volumes":["bb:/d","aa:/e"]}`, nil},
		"removed": {"a place that is gone is seen", `{"volumes":["aa:/d"]}`, `{}`, nil},
		"added":   {"nothing was there", `{"volumes":["aa:/d"]}`, `{"volumes":["aa:/d","bb:/e"]}`, nil},
		"reader":  {"it holds what others wrote", `{"volumes":["aa:/d:ro"]}`, `{"volumes":["bb:/d:ro"]}`, nil},
		"to claim": {"a volume became a claim", `{"volumes":["aa:/d/"]}`,
			`{"volume_claims":[{"name":"e","mount_path":"/d"}]}`,
			[]string{"volumes: /d is the claim e|stays in the volume aa"}},
		"folder": {"a folder may have anything", `{"volumes":["/srv/a:/d"]}`, `{"volumes":["/srv/b:/d"]}`,
			[]string{"/d is the folder /srv/b now, with what that has|stays in the folder /srv/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := api.DecodeWorkload(s, json.RawMessage(tc.before))
			after, other := api.DecodeWorkload(s, json.RawMessage(tc.after))
			if err != nil || other != nil {
				t.Fatal(err, other)
			}
			ref := api.Ref{Kind: s, Scope: "prod", Name: "db"}
			got := volumes.Moved(ref, ref, before, after)
			if len(got) != len(tc.want) {
				t.Fatalf("%s: %q", tc.reason, got)
			}
			for i, parts := range tc.want {
				for part := range strings.SplitSeq(parts, "|") {
					if !strings.Contains(got[i], part) {
						t.Errorf("%s: %q lacks %q", tc.reason, got[i], part)
					}
				}
			}
		})
	}
}
