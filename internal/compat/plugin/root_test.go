package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscovery(t *testing.T) {
	r := open(t, map[string]string{
		"plain/bin/a*": script("echo bin"), "plain/commands/a*": script("echo commands"), "plain/commands/b*": script(""),
		"plain/bin/.hidden*": "x", "plain/bin/notes.txt": "no program",
		"plain/plugin.yml": "name: plain\nversion: 1.10\ncommands: [{name: a, help: does a}, {name: gone}]\nroutes: {prefix: /x}\n",
		"entry/plugin.yml": "name: entry\naliases: [e, en]\nentrypoint: bin/main\ncommands: [{name: x}, {name: y}]\nenv: {N: 1}\n", "entry/bin/main*": script(""), "entry/bin/z*": script(""),
		"nameless/commands/run*": script(""), "named/commands/name": "other\n", "named/commands/go*": script(""),
		"broken/plugin.yml": "name: [", "lost/plugin.yml": "name: lost\nentrypoint: bin/nothing\n",
		"escape/plugin.yml": "name: escape\nentrypoint: ../plain/bin/a\n",
		"loud/plugin.yml":   "name: Loud!\n", "long/plugin.yml": "name: long\n" + strings.Repeat("#", maxDescription),
		".stage-x/plugin.yml": "name: x",
	})
	listed, err := r.List()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range listed {
		var names []string
		for _, c := range p.Offered() {
			names = append(names, strings.TrimSuffix(c.Name+" "+c.Help, " "))
		}
		got[p.Folder()] = p.Name + " " + p.Version + ": " + strings.Join(names, ",")
		if p.Err != nil {
			got[p.Folder()] = "broken"
		}
	}
	want := map[string]string{
		"plain": "plain 1.10: a does a,b", "entry": "entry : x,y", "nameless": "nameless : run", "named": "other : go",
		"broken": "broken", "lost": "broken", "escape": "broken", "loud": "broken", "long": "broken",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if out, err := r.must(t, "plain").Dispatch(t.Context(), "plain", "a", nil, nil); err != nil || out.Message != "bin\n" {
		t.Errorf("bin goes before commands: %q, %v", out.Message, err)
	}
}

func TestFind(t *testing.T) {
	r := open(t, map[string]string{
		"pg/bin/a*": script(""), "postgres/plugin.yml": "name: postgres\naliases: [pg, db]\n", "postgres/bin/a*": script(""),
		"maria/plugin.yml": "name: maria\naliases: [db]\n", "maria/bin/a*": script(""),
		"broken/plugin.yml": "aliases: [x]\nname: [",
	})
	if p := r.must(t, "pg"); p.Folder() != "pg" {
		t.Errorf("a folder's name goes before an alias, got %s", p.Folder())
	}
	_, err := r.Find("db")
	wantReason(t, err, Ambiguous, "maria and of postgres")
	_, err = r.Find("nothing")
	wantReason(t, err, NotFound, `"nothing"`)
	_, err = r.Find("../maria")
	wantReason(t, err, NotFound, "no plugin is named")
	_, err = r.Find("broken")
	wantReason(t, err, Broken, "plugin.yml")
	_, err = r.must(t, "maria").Dispatch(t.Context(), "maria", "b", nil, nil)
	wantReason(t, err, NoCommand, `no command "b"`)
}

// A plugin finds its variables under both names, and none of the server's own.
func TestEnvironment(t *testing.T) {
	r := open(t, map[string]string{
		"p/plugin.yml": "name: p\nenv: {MINE: yes, VOODU_NODE: lie}\n", "p/bin/env*": script("env; pwd; cat"),
	}, func(o *Options) {
		o.Etcd, o.Server = "http://127.0.0.1:2379", "unix:///srv/tend/tend.sock"
		o.Environ = func() []string {
			return []string{"PATH=/usr/bin:/bin", "HOME=/h", "AWS_SECRET_ACCESS_KEY=s3", "TEND_TOKEN=t0k",
				"VOODU_CADDY_ADMIN_URL=u", "TEND_PLUGIN_X=1", "LC_ALL=C"}
		}
	})
	p := r.must(t, "p")
	answer, err := p.Dispatch(t.Context(), "alias", "env", nil, at("http://c/t/1"))
	if err != nil {
		t.Fatal(err)
	}
	dir := r.opts.Dir
	for _, line := range []string{
		"HOME=/h", "TEND_SERVER=unix:///srv/tend/tend.sock", "MINE=yes", "LC_ALL=C", "VOODU_CADDY_ADMIN_URL=u",
		"TEND_PLUGIN_X=1", "VOODU_NODE=n1", "TEND_NODE=n1", "VOODU_ROOT=" + dir, "TEND_PLUGIN_ROOT=" + dir,
		"VOODU_PLUGIN_DIR=" + dir + "/p", "TEND_PLUGIN_DIR=" + dir + "/p", "VOODU_ETCD_CLIENT=http://127.0.0.1:2379",
		"VOODU_CONTROLLER_URL=http://c/t/1", "TEND_CONTROLLER_URL=http://c/t/1", dir + "/p",
		`{"plugin":"alias","command":"env","controller_url":"http://c/t/1","plugin_dir":"` + dir + `/p","node_name":"n1"}`,
	} {
		if !strings.Contains("\n"+answer.Message+"\n", "\n"+line+"\n") {
			t.Errorf("%s is missing in\n%s", line, answer.Message)
		}
	}
	for _, secret := range []string{"AWS_SECRET", "TEND_TOKEN"} {
		if strings.Contains(answer.Message, secret) {
			t.Errorf("the plugin sees the server's %s", secret)
		}
	}
}

// A caller, which may be a container, can't override the variables that plugin.yml sets. The plugin prints what it got.
func TestCallersSetNoVariableOfThePlugin(t *testing.T) {
	r := open(t,
		map[string]string{"p/plugin.yml": "name: p\nenv: {PATH: '/usr/bin:/bin', MINE: author, VOODU_MODE: author}\n",
			"p/bin/env*": script("env")})
	p := r.must(t, "p")
	for name, allowed := range map[string]bool{"VOODU_APP": true, "TEND_PLUGIN_APP": true, "PATH": false, "MINE": false,
		"VOODU_MODE": false, "LD_PRELOAD": false} {
		said, err := p.Exec(t.Context(), "env", nil, map[string]string{name: "/tmp/caller"}, nil)
		if saw := strings.Contains(said.Text, name+"=/tmp/caller"); saw != allowed || (err == nil) != allowed {
			t.Errorf("%s: the plugin saw it: %v, %v", name, saw, err)
		}
	}
}
