package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Whatever a plugin does wrong, the caller gets the cause and the next step, and no answer of the plugin.
func TestBadPlugins(t *testing.T) {
	cases := map[string]struct {
		reason, body string
		want         Reason
		part         string
	}{
		"crash":  {"a signal ended it", "kill -SEGV $$", Failed, "segmentation fault"},
		"silent": {"it fails and says nothing", "exit 7", Failed, "ended with 7"},
		"stderr envelope": {"its error is on stderr", `echo '{"status":"error","error":"no such cache"}' >&2; exit 1`,
			Failed, "x: no such cache"},
		"envelope and more": {"the envelope's words go before stderr",
			`echo '{"status":"error","error":"full"}'; echo noise >&2; exit 1`, Failed, "x: full"},
		"stderr":  {"stderr goes before stdout", "echo out; echo broken >&2; exit 1", Failed, "x: broken"},
		"stdout":  {"stdout is better than nothing", "echo only out; exit 1", Failed, "x: only out"},
		"said so": {"it says error and exits 0", `echo '{"status":"error","error":"no"}'`, Failed, "x: no"},
		"flood": {"stdout without end", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done",
			Flood, "wrote more than 65536 bytes"},
		"flood of errors": {"stderr without end", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2; done",
			Flood, "wrote more than"},
		"unknown action": {"an action of no type",
			`echo '{"status":"ok","data":{"actions":[{"type":"explode","scope":"a","name":"b"}]}}'`, Nonsense, "actions[0]"},
		"homeless action": {"an action about nothing",
			`echo '{"status":"ok","data":{"actions":[{"type":"config_set","kv":{"A":"1"}}]}}'`, Nonsense,
			"needs scope and name"},
		"hangs on TERM": {"it can't refuse to be ended for what it writes",
			"trap '' TERM INT HUP; while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done",
			Flood, "wrote more than"},
		"one long line": {"a flood without an end of line", "exec head -c 100000 /dev/zero", Flood, "wrote more than"},
		"deep nonsense": {"JSON that is too deep",
			`printf '{"status":"ok","data":{"actions":'; head -c 30000 /dev/zero | tr '\0' '['`, Nonsense, "not an envelope"},
		"half an envelope": {"it broke off", `printf '{"status":"ok","data":{"message":"do'`, Nonsense, "not an envelope"},
		"wrong types": {"actions that are none", `echo '{"status":"ok","data":{"actions":{"a":1}}}'`,
			Nonsense, "can't be used"},
	}
	files := map[string]string{"p/bin/no-interpreter*": "#!/nowhere/sh\n"}
	for name, c := range cases {
		files["p/bin/"+strings.ReplaceAll(name, " ", "-")+"*"] = script(c.body)
	}
	r := open(t, files, func(o *Options) { o.MaxStdout, o.MaxStderr = 64<<10, 64<<10 })
	p := r.must(t, "p")
	for name, c := range cases {
		command := strings.ReplaceAll(name, " ", "-")
		answer, err := p.Dispatch(t.Context(), "p", command, nil, nil)
		wantReason(t, err, c.want, strings.Replace(c.part, "x:", command+":", 1))
		if len(answer.Actions) > 0 && c.want != Nonsense {
			t.Errorf("%s: %s: it has an answer all the same: %+v", name, c.reason, answer)
		}
	}
	_, err := p.Dispatch(t.Context(), "p", "no-interpreter", nil, nil)
	wantReason(t, err, Broken, "can't be started")
}

// A plugin that hangs is ended with all it started.
func TestHangingPlugin(t *testing.T) {
	r := open(t,
		map[string]string{"p/bin/hang*": script("sleep 1000 &\necho $! > child\necho one >&2\necho waiting for redis >&2\nwait")}, func(o *Options) { o.Timeout = 500 * time.Millisecond })
	_, err := r.must(t, "p").Dispatch(t.Context(), "p", "hang", nil, nil)
	wantReason(t, err, Timeout, "did not end within 500ms and was killed; its last line: waiting for redis")
	ends(t, filepath.Join(r.opts.Dir, "p", "child"))
}

// Processes that leave the process group, as daemons do, are ended all the same: with the program that started them,
// also if they hold the pipes of one that has ended.
func TestDaemonsOfAPlugin(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string // "" where the call fails
	}{
		"hangs":           {"trap '' TERM; setsid sleep 1000 & echo $! > child; wait", ""},
		"holds the pipes": {"setsid sleep 1000 & echo $! > child; echo left", "left\n"},
	} {
		r := open(t, map[string]string{"p/bin/go*": script(c.body)}, func(o *Options) {
			if c.want == "" {
				o.Timeout = 3 * time.Second // the shell must get as far as starting its child
			}
		})
		answer, err := r.must(t, "p").Dispatch(t.Context(), "p", "go", nil, nil)
		if answer.Message != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, answer.Message, err)
		}
		ends(t, filepath.Join(r.opts.Dir, "p", "child"))
	}
}

// ends waits until the process that a file names is no more.
func ends(t *testing.T, file string) {
	t.Helper()
	child, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); alive(strings.TrimSpace(string(child))); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("its child lives on")
		}
	}
}

// alive reports whether a process runs. A zombie doesn't.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// A child that holds the pipes after its program's end delays no one; a cancelled call ends it.
func TestLeftBehindAndCancelled(t *testing.T) {
	r := open(t, map[string]string{"p/bin/leave*": script("sleep 1000 &\necho left"), "p/bin/hang*": script("sleep 1000")})
	answer, err := r.must(t, "p").Dispatch(t.Context(), "p", "leave", nil, nil)
	if err != nil || answer.Message != "left\n" {
		t.Errorf("got %q, %v", answer.Message, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.must(t, "p").Dispatch(ctx, "p", "hang", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestExpand(t *testing.T) {
	one := Manifest{Kind: "asset", Scope: "s", Name: "n", Spec: json.RawMessage(`{"files":{}}`)}
	text := `{"kind":"asset","scope":"s","name":"n","spec":{"files":{}}}`
	cases := map[string]struct {
		data string
		want Expansion
		part string
	}{
		"one":  {text, Expansion{Manifests: []Manifest{one}}, ""},
		"list": {"[" + text + "," + text + "]", Expansion{Manifests: []Manifest{one, one}}, ""},
		"object": {`{"manifests":[` + text +
			`],"actions":[{"type":"config_set","scope":"s","name":"n","kv":{"A":"1"},"skip_restart":true,"summary":"sum"}]}`,
			Expansion{Manifests: []Manifest{one},
				Actions: []Action{{Type: ConfigSet, Scope: "s", Name: "n", KV: map[string]string{"A": "1"}, SkipRestart: true,
					Summary: "sum"}}}, ""},
		"nothing": {`[]`, Expansion{}, "holds no manifest"},
		"text":    {`"x"`, Expansion{}, "can't be used"},
		"local": {`{"manifests":[` + text + `],"actions":[{"type":"exec_local","command":["sh"]}]}`, Expansion{},
			"there is no terminal"},
	}
	files := map[string]string{"p/bin/expand*": script(`cat > seen; env | grep TEND_DRY_RUN > dry; cat answer`),
		"p/answer": ""}
	r := open(t, files)
	p := r.must(t, "p")
	for name, c := range cases {
		lay(t, p.Dir, map[string]string{"answer": `{"status":"ok","data":` + c.data + `}`})
		got, err := p.Expand(t.Context(),
			ExpandRequest{Kind: "kv", Scope: "s", Name: "n", Spec: json.RawMessage(`{"a":1}`),
				Config: map[string]string{"K": "v"}}, nil, name == "one")
		if c.part != "" {
			wantReason(t, err, Nonsense, c.part)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		dry, _ := os.ReadFile(filepath.Join(p.Dir, "dry"))
		if (string(dry) == "TEND_DRY_RUN=1\n") != (name == "one") {
			t.Errorf("%s: the dry run is passed as %q", name, dry)
		}
	}
	seen, _ := os.ReadFile(filepath.Join(p.Dir, "seen"))
	if string(seen) != `{"kind":"kv","scope":"s","name":"n","spec":{"a":1},"config":{"K":"v"}}` {
		t.Errorf("it was given %s", seen)
	}
	for name, answer := range map[string]string{"nonsense": "hello", "half": `{"status":"ok","data":{"kind":`, "empty": "",
		"no status": `{"data":[]}`} {
		lay(t, p.Dir, map[string]string{"answer": answer})
		_, err := p.Expand(t.Context(), ExpandRequest{Kind: "kv", Name: name}, nil, false)
		wantReason(t, err, Nonsense, "not an envelope")
	}
}

func TestDispatchAnswers(t *testing.T) {
	r := open(t, map[string]string{"p/bin/say*": script(`printf '%s' "$1"`)})
	for given, want := range map[string]Answer{
		"plain text": {Message: "plain text"}, `{"a":1}`: {Message: `{"a":1}`}, `{"status":"ok"}`: {},
		`{"status":"ok","data":"done"}`: {Message: "done"},
		`{"status":"ok","data":[1]}`:    {Message: "[1]"}, `{"status":"ok","data":{"rows":3}}`: {Message: `{"rows":3}`},
		`{"status":"ok","data":{"message":"m","actions":[{"type":"exec_local","command":"psql -l"},{"type":"run_job","scope":"s","name":"j"}]}}`: {Message: "m", Actions: []Action{
			{Type: ExecLocal, Command: CommandLine{"sh", "-c", "psql -l"}}, {Type: RunJob, Scope: "s", Name: "j"}}},
	} {
		got, err := r.must(t, "p").Dispatch(t.Context(), "p", "say", []string{given}, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", given, err, diff)
		}
	}
}
