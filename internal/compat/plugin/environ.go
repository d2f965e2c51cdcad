package plugin

import (
	"maps"
	"slices"
	"strings"
)

// passed are the server's variables that its plugins get too: those that programs need, and none that could be a secret
// of Tend's.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONTEXT", "DOCKER_CONFIG",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR",
}

// prefixes are the prefixes of variables for plugins.
var prefixes = []string{"LC_", "TEND_PLUGIN_", "VOODU_"}

// inherited returns the part of the server's environment that a program of a plugin gets.
func (r *Root) inherited() map[string]string {
	out := map[string]string{}
	for _, entry := range r.opts.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		meant := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if meant || slices.Contains(passed, name) {
			out[name] = value
		}
	}
	if out["PATH"] == "" {
		out["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	return out
}

// environ returns the environment of a call: variables of the server, of plugin.yml, of the caller, and of this call.
func (p *Plugin) environ(added, call map[string]string) []string {
	env := p.root.inherited()
	if server := p.root.opts.Server; server != "" {
		env["TEND_SERVER"] = server
	}
	maps.Copy(env, p.Env)
	maps.Copy(env, added)
	say := func(value string, names ...string) {
		for _, name := range names {
			if delete(env, name); value != "" {
				env[name] = value
			}
		}
	}
	say(p.Dir, "TEND_PLUGIN_DIR", "VOODU_PLUGIN_DIR")
	say(p.root.opts.Dir, "TEND_PLUGIN_ROOT", "VOODU_ROOT")
	say(p.root.opts.Node, "TEND_NODE", "VOODU_NODE")
	say(p.root.opts.Etcd, "TEND_ETCD_CLIENT", "VOODU_ETCD_CLIENT")
	maps.Copy(env, call)
	return lines(env)
}

// mayAdd reports whether the caller may set a variable: only one meant for plugins that plugin.yml doesn't set. So no
// caller chooses which program runs (PATH, LD_PRELOAD), or overrides the author.
func (p *Plugin) mayAdd(name, value string) bool {
	_, own := p.Env[name]
	meant := strings.HasPrefix(name, "VOODU_") || strings.HasPrefix(name, "TEND_PLUGIN_")
	return meant && !own && envName().MatchString(name) && !strings.ContainsRune(value, 0)
}

func lines(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
