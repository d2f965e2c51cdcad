package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// forms are the forms of a kind's fields in the files, by path.
type forms struct {
	accepted, refused map[string]bool
	defaults          map[string]string
}

// alike are blocks of the same type: a field shown in one of them counts as shown in all.
var alike = []struct {
	one *regexp.Regexp
	all string
}{
	{regexp.MustCompile(`^probes\.(liveness|readiness|startup)`), "probes.*"},
	{regexp.MustCompile(`^(on_deploy\.(success|failure)|on_probe\.(failure|recovery))\[\]`), "hook[]"},
}

var anIndex = regexp.MustCompile(`\[\d+\]`)

func canonicalPath(path string) string {
	path = anIndex.ReplaceAllString(path, "[]")
	for _, a := range alike {
		path = a.one.ReplaceAllString(path, a.all)
	}
	return path
}

// TestEveryFieldHasItsForms: each field of each kind has an accepted line, a refused one, and one with its default.
func TestEveryFieldHasItsForms(t *testing.T) {
	shown := map[api.Kind]*forms{}
	for _, kind := range api.KindsThat(declarable) {
		shown[kind] = &forms{accepted: map[string]bool{}, refused: map[string]bool{}, defaults: map[string]string{}}
	}
	for _, file := range fieldFiles(t) {
		for _, kind := range file.kinds {
			shown[kind].add(t, kind, file)
		}
	}
	for _, kind := range api.KindsThat(declarable) {
		if kind == api.KindAsset {
			continue // its fields are named by their author; asset.txt shows the forms of a file
		}
		for _, path := range leaves(kind.Info().Spec, "") {
			if slices.Contains(refusedFields[kind.Info().Spec], strings.Split(path, ".")[0]) {
				continue
			}
			path = canonicalPath(path)
			later := slices.Contains(laterFields, strings.Split(path, ".")[0]) // refused as a whole
			for what, has := range map[string]bool{
				"accepted": shown[kind].accepted[path] || later, "refused": shown[kind].refused[path] || later,
				"defaulted": shown[kind].defaults[path] != "",
			} {
				if !has {
					t.Errorf("%s: %s: no line shows it %s", kind, path, what)
				}
			}
		}
	}
}

// TestDefaultsAreDocumented: the defaults in the files are those of the code.
func TestDefaultsAreDocumented(t *testing.T) {
	for _, file := range fieldFiles(t) {
		for path, said := range file.defaults() {
			want, known := defaults()[path]
			switch {
			case known && want != said:
				t.Errorf("%s: %s: the file says %q, and the code takes %q", file.name, path, said, want)
			case !known && said != "required" && !strings.HasPrefix(said, "none, "):
				t.Errorf("%s: %s: %q is not a default that the code has; say `none, ` and why, or `required`",
					file.name, path, said)
			}
		}
	}
}

// defaults returns the defaults in the code for omitted fields.
func defaults() map[string]string {
	var d api.DeploymentSpec
	strategy := d.ResolvedStrategy()
	short := func(d time.Duration) string {
		return regexp.MustCompile(`([hm])0[ms](0s)?$`).ReplaceAllString(d.String(), "$1")
	}
	return map[string]string{
		"replicas": fmt.Sprint(d.ReplicaCount()), "keep_releases": fmt.Sprint(d.KeepReleaseCount()),
		"restart":           api.DefaultRestart,
		"stop_grace_period": short(api.DefaultStopGracePeriod), "logs.max_size": api.DefaultLogMaxSize,
		"logs.max_files": fmt.Sprint(api.DefaultLogMaxFiles),
		"strategy.order": strategy.Order, "strategy.max_parallel": fmt.Sprint(strategy.MaxParallel),
		"strategy.pause":   short(strategy.Pause),
		"strategy.monitor": short(strategy.Monitor), "strategy.deadline": short(strategy.Deadline),
		"strategy.on_failure": strategy.OnFailure,
		"strategy.drain":      short(strategy.Drain), "strategy.wait_ready": fmt.Sprint(strategy.WaitReady),
		"autoscale.cooldown_up": short(api.DefaultCooldownUp), "autoscale.cooldown_down": short(api.DefaultCooldownDown),
		"successful_history_limit": fmt.Sprint(api.JobSpec{}.SuccessfulHistory()),
		"failed_history_limit":     fmt.Sprint(api.JobSpec{}.FailedHistory()),
		"driver":                   api.NetworkSpec{}.WithDefaults().Driver, "range": api.DefaultNetworkRange,
		"subnet_bits": fmt.Sprint(api.DefaultNetworkSubnetBits),
		"interval":    short(api.DefaultSyncInterval), "timezone": api.DefaultTimezone,
		"starting_deadline": short(api.DefaultStartingDeadline),
	}
}

func (f fieldFile) defaults() map[string]string {
	out := map[string]string{}
	for _, line := range f.lines {
		if rest, found := strings.CutPrefix(line, "default "); found {
			path, said, _ := strings.Cut(rest, ": ")
			out[path] = said
		}
	}
	return out
}

func (f *forms) add(t *testing.T, kind api.Kind, file fieldFile) {
	t.Helper()
	maps.Copy(f.defaults, file.defaults())
	for body, outcome := range file.cases() {
		if strings.HasPrefix(body, "env_file = ") && !strings.HasPrefix(outcome, "error: ") {
			f.accepted["env_file"] = true // env_file is removed once it is read
		}
		if strings.HasPrefix(body, "count = ") && strings.Contains(outcome, `"class"`) {
			f.accepted["count"] = true // only the labs are stored
		}
		if said, wrong := strings.CutPrefix(outcome, "error: "); wrong {
			for part := range strings.SplitSeq(said, " | ") {
				field, _, _ := strings.Cut(part, ": ")
				for path := canonicalPath(field); path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
					f.refused[path] = true
				}
			}
			continue
		}
		for _, object := range mustLoadBody(t, kind, body) {
			var spec any
			if err := json.Unmarshal(object.Spec, &spec); err != nil {
				t.Fatal(err)
			}
			f.accept(spec, "")
		}
	}
}

func (f *forms) accept(value any, path string) {
	f.accepted[canonicalPath(path)] = true
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			f.accept(inner, join(path, name))
		}
	case []any:
		for _, inner := range v {
			f.accept(inner, path+"[]")
		}
	}
}

// leaves returns the paths of a struct's fields that are no blocks themselves.
func leaves(t reflect.Type, path string) []string {
	var out []string
	for _, p := range properties(t) {
		here, of := join(path, p.name), p.of
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && p.block {
			if of.Kind() == reflect.Slice {
				here += "[]"
			}
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			out = append(out, leaves(of, here)...)
			continue
		}
		out = append(out, here)
	}
	return out
}
