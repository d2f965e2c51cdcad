package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNoCommandHidesAFlagOfAll: a flag of a command that is called like one of all commands would take its value, also
// where it stands before the command.
func TestNoCommandHidesAFlagOfAll(t *testing.T) {
	meant := map[string]string{
		"tend server --token": "it calls no server", "tend server --server": "it calls no server",
		"tend dev --token": "it calls no server", "tend agent --token": "it calls no API", "tend agent --server": "it calls no API",
		"tend nodes add --server": "it takes both, see TestServerSwitch",
	}
	root := newRoot(streams{})
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		for _, sub := range command.Commands() {
			sub.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
				if name := sub.CommandPath() + " --" + flag.Name; root.PersistentFlags().Lookup(flag.Name) != nil && meant[name] == "" {
					t.Errorf("%s hides the flag of all commands: rename it", name)
				}
			})
			walk(sub)
		}
	}
	walk(root)
}

// TestServerSwitch: --server of `tend nodes add` is the role of the token, and with a URL the server to call.
func TestServerSwitch(t *testing.T) {
	for line, want := range map[string]struct {
		url   string
		role  bool
		fault string
	}{
		"nodes add":                                               {},
		"nodes add --server":                                      {role: true},
		"--server unix:///x nodes add":                            {url: "unix:///x"},
		"--server=https://x:1 nodes add":                          {url: "https://x:1"},
		"nodes add --server unix:///x":                            {url: "unix:///x"},
		"--server unix:///x nodes add --server":                   {url: "unix:///x", role: true},
		"--server=unix:///x nodes add --server --ttl 1m":          {url: "unix:///x", role: true},
		"nodes add --server --server unix:///x":                   {url: "unix:///x", role: true},
		"nodes add --server=false":                                {},
		"nodes add unix:///x":                                     {fault: "one argument too many"},
		"nodes add --server worker":                               {role: true, fault: "one argument too many"},
		"--server unix:///x nodes add --server --ingress -o json": {url: "unix:///x", role: true},
	} {
		command, rest, err := newRoot(streams{}).Find(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		server, a := command.Flags().Lookup("server").Value.(*serverSwitch), &app{}
		err = server.args(a)(command, command.Flags().Args())
		if fault := want.fault; (err != nil) != (fault != "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", line, err, fault)
		}
		if a.server != want.url || server.wanted() != want.role {
			t.Errorf("%s: calls %q, for a server %t", line, a.server, server.wanted())
		}
	}
}
