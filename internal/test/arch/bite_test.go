package arch

import (
	"regexp"
	"strings"
	"testing"
)

// TestEveryCheckBites gives each check a small tree that breaks its rule once, beside one that keeps it: a check that
// finds nothing is worse than none.
func TestEveryCheckBites(t *testing.T) {
	table := []room{{"api", nil, "values"}, {"internal/core", []string{"api"}, "pure"},
		{"internal/node", []string{"api"}, "far"}}
	tests := map[string]struct {
		reason string
		check  func([]*source) []string
		files  map[string]string
		want   string
	}{
		"Early pattern": {"every command would compile it", func(s []*source) []string { return earlyPatterns(s, "bench") },
			map[string]string{
				"api/a.go":   "package api\nimport \"regexp\"\nvar a = regexp.MustCompile(`a`)",
				"api/b.go":   "package api\nimport \"regexp\"\nvar b = func() any { return regexp.MustCompile(`b`) }",
				"bench/c.go": "package main\nimport \"regexp\"\nvar c = regexp.MustCompile(`c`)",
			}, "api/a.go:3 compiles a regular expression"},
		"Wrong pattern": {"its first user would find it", wrongPatterns,
			map[string]string{
				"api/a.go": "package api\nimport \"tend.dev/tend/api/pattern\"\nvar a, b = pattern.Lazy(part + `)`), pattern.Lazy(part)",
				"api/b.go": "package api\nconst part = `(a`",
			}, "api/a.go:3: error parsing regexp: missing closing"},
		"Upward import": {"api must not know core", func(s []*source) []string { return wrongImports(s, table) },
			map[string]string{
				"api/a.go":           `package api; import "tend.dev/tend/internal/core/rollout"`,
				"api/a_test.go":      `package api; import "tend.dev/tend/internal/core/rollout"`,
				"internal/core/b.go": `package core; import "tend.dev/tend/api"`,
			}, "api/a.go imports internal/core/rollout"},
		"Breached wall": {"a part of a room keeps its distance", func(s []*source) []string {
			return breaches(s, []wall{{[]string{"api/..."}, []string{"internal/core/..."}, []string{"api/b"}, "far"}})
		}, map[string]string{
			"api/a/a.go":      `package a; import "tend.dev/tend/internal/core/rollout"`,
			"api/a/a_test.go": `package a; import "tend.dev/tend/internal/core/rollout"`,
			"api/b/b.go":      `package b; import "tend.dev/tend/internal/core/rollout"`,
		}, "api/a/a.go imports internal/core/rollout"},
		"Crossed kinds": {"a kind stands alone", crossedKinds, map[string]string{
			"internal/kinds/a/a.go": `package a; import "tend.dev/tend/internal/kinds/b"`,
			"internal/kinds/b/b.go": `package b; import "tend.dev/tend/internal/kinds/owner"`,
		}, "internal/kinds/a/a.go imports internal/kinds/b"},
		"Unfed metric": {"a metric that nothing sets misleads", unfedMetrics,
			map[string]string{
				"internal/a/a.go": "package a\nvar m = metrics{\nruns: counter(\"tend_runs_total\"),\nends: counter(\"tend_ends_total\")}\nfunc f() { m.runs.Inc() }",
			}, "internal/a/a.go:4: nothing feeds tend_ends_total"},
		"Dialect": {"comments use the field's English", func(s []*source) []string { return dialectFaults(s, dialect) },
			map[string]string{"api/a.go": "// Package api is made anew.\npackage api", "api/b.go": "package api // made again"},
			"api/a.go:1 says \"anew\""},
		"Dialect in a name": {"and so do names", func(s []*source) []string { return dialectNames(s, dialect) },
			map[string]string{"api/a.go": "package api\nfunc TestIsToldOnce() { indoor, older := 1, 2 }\n",
				"api/b.go": "package api\nvar newerThanOld = told"}, "api/a.go:2 declares TestIsToldOnce"},
		"Relative clause": {"a sentence has its subject", relativeClauses,
			map[string]string{
				"api/a.go": "// Package api: there is no such name, it is no longer here.\npackage api\n// A is what B\n// has.\n",
			}, "api/a.go:3 says \"is what\""},
		"Saying declaration": {"a function returns or does something", sayers,
			map[string]string{
				"api/a.go":      "package api\n// a says\n// whether it is.\nfunc a() {}\n",
				"api/b.go":      "package api\ntype b struct {\n// c says why.\nc string }\n// d says nothing.\nvar d b\n",
				"api/kube/e.go": "package kube\n// E says what is.\ntype E int\n",
			}, "api/a.go:4: the comment \"says whether\""},
		"Denied noun": {"messages too", relativeClauses,
			map[string]string{"api/a.go": "package a\nvar a = \"%q is no name\""}, "api/a.go:2 says \"is no\""},
		"Long line": {"120 columns, apart from texts", longLines,
			map[string]string{
				"api/a.go": "package api\nvar a = \"" + strings.Repeat("x", 200) + "\" //nolint:" + strings.Repeat("x", 200) + "\n",
				"api/b.go": "package api\n//" + strings.Repeat("x", 119) + "\n",
			}, "api/b.go:2 has 121 columns"},
		"Inner word": {"people know pods", func(s []*source) []string { return innerWords(s, []string{"api"}) },
			map[string]string{
				"api/a.go": "package api\ntype a struct { B int `json:\"the task\"` }\nfunc f() { log.Info(\"task ended\") }\nvar c = \"two Slots left\"",
				"api/b.go": "package api\nvar a, b = \"slot\", \"snapshots of pods\"", "internal/a.go": "package a\nvar a = \"a task ends\"",
			}, "api/a.go:4 says \"Slots\""},
		"Own question": {"core/suggest asks", ownQuestions,
			map[string]string{
				"internal/cli/a.go":          "package cli\nvar a = \"x\" +\n\"; Did you mean \" // did you mean it?",
				"internal/cli/a_test.go":     "package cli\nvar a = `did you mean`",
				"internal/core/suggest/a.go": "package suggest\nvar a = `did you mean`",
			}, "internal/cli/a.go:3 asks what was meant itself"},
		"Reason": {"reasons are declared in one place", declaredReasonFaults,
			map[string]string{"api/reasons.go": "package api\nconst ReasonA = \"A\"",
				"internal/a/a.go": "package a\nconst reasonB = \"Bad\""}, "declares the reason Bad"},
		"No room": {"a new folder needs its room", func(s []*source) []string { return homeless(s, table[:1]) },
			map[string]string{"api/a.go": `package api`, "internal/new/a.go": `package new`},
			"internal/new/a.go is in no room"},
		"Empty room": {"a folder that went takes its line along",
			func(s []*source) []string { return homeless(s, table[:2]) },
			map[string]string{"api/a.go": `package api`}, "the room internal/core has no files"},
		"Docker": {"one package speaks Docker", func(s []*source) []string { return bannedImports(s, bans) },
			map[string]string{
				"internal/node/agent/a.go":          `package agent; import "github.com/moby/moby/client"`,
				"internal/node/runtime/docker/a.go": `package docker; import "github.com/moby/moby/client"`,
				"internal/node/agent/a_test.go":     `package agent; import "github.com/moby/moby/client"`,
			}, "internal/node/agent/a.go imports github.com/moby/moby/client"},
		"Testify": {"not even in tests", func(s []*source) []string { return bannedImports(s, bans) },
			map[string]string{"api/a_test.go": `package api; import "github.com/stretchr/testify/require"`}, "testify"},
		"Log": {"log is banned, log/slog isn't", func(s []*source) []string { return bannedImports(s, bans) },
			map[string]string{"api/a.go": `package api; import "log"`, "api/b.go": `package api; import "log/slog"`},
			"api/a.go imports log,"},
		"Foreign": {"api is standard library alone",
			func(s []*source) []string { return foreignImports(s, "api", "api/kube") },
			map[string]string{"api/a.go": `package api; import ("net/netip"; "sigs.k8s.io/yaml")`,
				"api/kube/a.go": `package kube; import "k8s.io/apimachinery/a"`},
			"sigs.k8s.io/yaml"},
		"Core imports": {"no context in core", func(s []*source) []string { return impurities(s, "internal/core") },
			map[string]string{"internal/core/a.go": `package core; import "context"`,
				"internal/node/agent/a.go": `package agent; import "context"`},
			"internal/core/a.go imports context"},
		"Core clock": {"no clock in core", func(s []*source) []string { return impurities(s, "internal/core") },
			map[string]string{"internal/core/a.go": "package core; import \"time\"\nvar a = time.Second\nvar b = time.Now"},
			"a.go:3 uses time.Now"},
		"Core net": {"parsing isn't I/O, dialling is", func(s []*source) []string { return impurities(s, "internal/core") },
			map[string]string{"internal/core/a.go": "package core; import \"net\"\nvar a = net.ParseMAC\nvar b = net.Dial"},
			"a.go:3 uses net.Dial"},
		"Testing": {"only …test packages", testingOutside,
			map[string]string{
				"internal/node/agent/a.go": `package agent; import "testing"`,
				"internal/storetest/a.go":  `package storetest; import "testing"`,
				"api/a_test.go":            `package api; import "testing"`,
			}, "internal/node/agent/a.go imports testing"},
		"Mux": {"a mux of your own", defaultMux,
			map[string]string{"api/a.go": "package api; import \"net/http\"\nvar a = http.NewServeMux\nvar b = http.HandleFunc"},
			"a.go:3 uses http.HandleFunc"},
		"Nil mux": {"nil is the default mux", defaultMux,
			map[string]string{"api/a.go": "package api; import \"net/http\"\nvar a = http.ListenAndServe(\":0\", mux)\nvar b = http.ListenAndServe(\":0\", nil)"},
			"a.go:3 serves nil"},
		"Lost test": {"a list of tests names tests", func(s []*source) []string { return lostTests(s, []string{"TestA", "TestB"}) },
			map[string]string{"api/a_test.go": "package api\nfunc TestA() {}", "api/b.go": "package api\nfunc TestB() {}"},
			"names TestB"},
		"Skip": {"no skipping", lazyTests,
			map[string]string{"api/a_test.go": "package api; import \"testing\"\nfunc TestA(t *testing.T) {\nt.Skip()\n}"},
			"a_test.go:3 skips"},
		"Sleep": {"no sleeping, but in a bubble", lazyTests,
			map[string]string{
				"api/a_test.go": "package api; import \"time\"\nvar a = time.Sleep",
				"api/b_test.go": "package api; import (\"time\"; \"testing/synctest\")\nvar b = time.Sleep",
			}, "a_test.go:2 sleeps"},
		"Bare goroutine": {"its panic ends the process",
			func(s []*source) []string { return bareGoroutines(s, []string{"internal/a"}, nil) },
			map[string]string{
				"internal/a/a.go":      "package a\nimport \"tend.dev/tend/internal/b\"",
				"internal/a/a_test.go": "package a\nfunc f() { go f() }",
				"internal/b/b.go":      "package b\nfunc f() {\ngo f()\n}",
				"internal/c/c.go":      "package c\nfunc f() { go f() }",
			}, "internal/b/b.go:3 starts a goroutine"},
		"Bare group": {"so does that of one in a group",
			func(s []*source) []string { return bareGoroutines(s, []string{"internal/a"}, nil) },
			map[string]string{"internal/a/a.go": "package a\nimport \"sync\"\nfunc f() { var g sync.WaitGroup\ng.Go(f) }"},
			"a.go:4 starts a goroutine"},
		"Bare timer": {"and that of a timer",
			func(s []*source) []string { return bareGoroutines(s, []string{"internal/a"}, nil) },
			map[string]string{"internal/a/a.go": "package a\nimport \"time\"\nfunc f() {\ntime.AfterFunc(1, p.beat)\ntime.AfterFunc(1, cancel)\nrecovery.AfterFunc(1, p.beat)\n}"},
			"a.go:4 starts a goroutine"},
		"Long file": {"300 lines", func(s []*source) []string { return tooLong(s, nil) },
			map[string]string{"api/a.go": "package api" + strings.Repeat("\n", 301), "api/b_test.go": "package api" +
				strings.Repeat("\n", 301)},
			"api/a.go has 301 lines"},
		"Long function": {"60 lines", func(s []*source) []string { return tooLong(s, nil) },
			map[string]string{"api/a.go": "package api\nfunc a() {" + strings.Repeat("\n", 61) + "}"},
			"api/a.go:2 a has 62 lines"},
		"Stale allowance": {"the list shrinks by itself",
			func(s []*source) []string { return tooLong(s, map[string]string{"api/a.go": "old"}) },
			map[string]string{"api/a.go": "package api"}, "take it off the list"},
		"Vague": {"utils isn't a noun", vagueFolders, map[string]string{"internal/utils/a.go": `package utils`},
			"internal/utils/a.go"},
		"Unfinished": {"nothing is put off", unfinished,
			map[string]string{"api/a.go": "package api\n// TO" + "DO: more\n// mastodon"}, "api/a.go:2 says"},
		"No comment": {"every package has one", undocumented,
			map[string]string{"api/a.go": `package api`, "client/doc.go": "// Package client is.\npackage client"},
			"api has no package comment"},
		"Comment elsewhere": {"in doc.go", undocumented,
			map[string]string{"api/a.go": "// Package api is.\npackage api", "api/b.go": `package api`},
			"readers look for it in doc.go"},
		"Unlisted metric": {"the page is complete", func(s []*source) []string { return metricFaults(s, "| `tend_a` |") },
			map[string]string{"api/a.go": "package api; import \"github.com/prometheus/client_golang/prometheus\"\nvar a = prometheus.NewDesc(\"tend_b\") + \"tend_a\""},
			"does not list tend_b"},
		"Unlisted log key": {"the page is complete",
			func(s []*source) []string { return logKeyFaults(s, "\n## Keys\n| `a`, `b`, `c` | x |") },
			map[string]string{"internal/a/a.go": "package a\nfunc f() { log.With(\"a\", 1).Info(\"m\"); s.Logger.WarnContext(ctx, \"m\", \"b\", x, slog.String(\"c\", \"\"), \"d\", y) }"},
			"a.go logs the key d"},
		"Listed log key of nothing": {"the page is true",
			func(s []*source) []string { return logKeyFaults(s, "\n## Keys\n| `a` | x |") }, nil,
			"lists the key a, which nothing logs"},
		"Function of tests alone": {"a proof of what nothing runs proves nothing", uncalled,
			map[string]string{
				"internal/a/a.go":      "package a\nimport \"tend.dev/tend/internal/b\"\nfunc init() { used(); b.Used() }\nfunc used() {}\nfunc alone() { alone() }",
				"internal/a/a_test.go": "package a\nfunc TestA() { alone() }",
				"internal/b/b.go":      "package b\nfunc Used() {}",
				"internal/btest/b.go":  "package btest\nfunc Helper() {}",
				"client/c.go":          "package client\nfunc Public() {}",
			}, "internal/a/a.go:5: only tests call alone"},
		"Package of tests alone": {"nor does one of a package",
			func(s []*source) []string { return unlinkedFolders(s, map[string]string{"internal/c": "x"}) },
			map[string]string{
				"cmd/a/a.go":      "package main\nimport \"tend.dev/tend/internal/a\"",
				"internal/a/a.go": "package a", "internal/b/b.go": "package b", "internal/c/c.go": "package c",
			}, "no program links internal/b"},
		"Program in a cached test": {"the cache doesn't know it",
			func(s []*source) []string { return cachedPrograms(s, regexp.MustCompile(`^internal/a$`)) },
			map[string]string{
				"internal/a/a_test.go": "package a\nimport \"os/exec\"\nvar a = exec.Command(\"go\")",
				"internal/b/b_test.go": "package b\nimport \"os/exec\"\nvar b = exec.CommandContext(nil, \"go\")",
			}, "internal/b/b_test.go:3 runs a program"},
		"Release by name": {"another object may have the name by now",
			func(s []*source) []string { return releasesByName(s, "internal/records") },
			map[string]string{
				"internal/a/a.go":       "package a\nvar a = s.Release(ref, status.Release)\nvar b = s.Release(task.Owner(), task.Value.Release)",
				"internal/a/b.go":       "package a\nvar c, d = c.Release(ctx, task), s.Release(ref, \"v1\")",
				"internal/a/a_test.go":  "package a\nvar e = s.Release(task.Owner(), task.Release)",
				"internal/records/r.go": "package records\nvar f = s.Release(task.Owner(), task.Release)",
			}, "internal/a/a.go:3 reads the release of a task"},
		"Pointer to nothing": {"a reader follows it",
			func(s []*source) []string { return missingPlaces(s, func(string) bool { return false }) },
			map[string]string{
				"internal/core/a/a.go": "// Package a decides; internal/b/b.go and internal/b carry out, see x.io/internal/c.\npackage a",
				"internal/b/b.go":      "// Package b carries out what core/a and (core/c) decide.\npackage b",
			}, "internal/b/b.go:1: the comment names core/c"},
		"Wall clock": {"it is set by hours", wallDurations,
			map[string]string{
				"api/a.go":      "package api\nimport \"time\"\nvar a = time.Since(time.Unix(0, b))",
				"api/b.go":      "package api\nimport \"time\"\nvar b, c = time.Since(began), now.Sub(time.Unix(0, modified))",
				"api/a_test.go": "package api\nvar d = now.UnixNano() - before",
			}, "api/a.go:3 measures by the wall clock"},
		"Wall clock in numbers": {"so are they", wallDurations,
			map[string]string{"api/a.go": "package api\nvar a = now.UnixNano() - before"}, "api/a.go:2 measures"},
		"Listed ghost": {"the page is true", func(s []*source) []string { return metricFaults(s, "| `tend_a` | x |") }, nil,
			"lists tend_a, which"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var all []*source
			for file, text := range test.files {
				s, err := parse(file, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, s)
			}
			faults := test.check(all)
			if len(faults) != 1 || !strings.Contains(faults[0], test.want) {
				t.Errorf("%s: found %q, want one fault with %q", test.reason, faults, test.want)
			}
		})
	}
}
