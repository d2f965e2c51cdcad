package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Users of the predecessor type its commands. A command with the same meaning here is accepted; any other is refused
// with the command that replaces it. docs/use/migrate-from-voodu.md lists both.

// configVerbs are the words that follow a bucket in the predecessor, and precede it here.
var configVerbs = []string{"list", "set", "get", "unset", "import"}

// yesWords answer a question that apply and diff don't ask. delete may ask, and has its own -y and --yes.
var yesWords = []string{"-y", "--yes", "--auto-approve"}

// inOurWords rewrites a command line of the predecessor:
//
//	config REF set K=V  →  config set REF K=V
//	config:set REF K=V  →  config set REF K=V
//	run REF -- CMD      →  exec REF -- CMD
//	apply -y            →  apply
//	plugins update --all → plugins update
//
// Words after -- are not flags and stay unchanged.
func inOurWords(args []string) []string {
	if len(args) == 0 {
		return args
	}
	own, rest := args, []string(nil)
	if cut := slices.Index(args, "--"); cut >= 0 {
		own, rest = args[:cut], args[cut:]
	}
	own = slices.Clone(own)
	if len(own) == 0 {
		return args
	}
	if first, verb, split := strings.Cut(own[0], ":"); split &&
		(first == "config" && slices.Contains(configVerbs, verb) || first == "plugins") {
		own = append([]string{first, verb}, own[1:]...)
	}
	switch {
	case own[0] == "config" && len(own) > 2 && !slices.Contains(configVerbs, own[1]) &&
		slices.Contains(configVerbs, own[2]):
		own[1], own[2] = own[2], own[1]
	case own[0] == "config" && len(own) == 2 && strings.Contains(own[1], "/"): // a bare word may be a mistyped verb
		own = []string{"config", "list", own[1]}
	case own[0] == "run" && len(own) > 1 && len(rest) > 1:
		own[0] = "exec"
	case slices.Contains([]string{"apply", "diff"}, own[0]):
		own = without(own, yesWords...)
	case own[0] == "delete":
		for i := range own {
			if own[i] == "--auto-approve" {
				own[i] = "--yes"
			}
		}
	case own[0] == "plugins" && len(own) > 1 && own[1] == "update":
		own = without(own, "--all")
	}
	return append(own, rest...)
}

func without(args []string, words ...string) []string {
	return slices.DeleteFunc(args, func(arg string) bool { return slices.Contains(words, arg) })
}

// hintsOfFlags maps flags of the predecessor, docker and kubectl to what replaces them here: by command (empty is any)
// and flag.
var hintsOfFlags = []struct{ command, flag, hint string }{
	{"logs", "-s", "logs shows one object at a time: `tend get -s SCOPE` lists those of a scope"},
	{"logs", "--scope", "logs shows one object at a time: `tend get -s SCOPE` lists those of a scope"},
	{"stats", "-s", "`tend stats` shows all objects, `tend stats SCOPE/NAME` one"},
	{"get", "--show-env",
		"values are shown one by one: `tend config list SCOPE/NAME`, then `tend config get SCOPE/NAME KEY`"},
	{"describe", "--show-env",
		"values are shown one by one: `tend config list SCOPE/NAME`, then `tend config get SCOPE/NAME KEY`"},
	{"", "-n", scopeInName}, {"", "--namespace", scopeInName},
	{"", "--all-namespaces", "all scopes are listed unless -s names one"},
	{"scale", "--replicas", "the number comes last: `tend scale SCOPE/NAME REPLICAS`"},
	{"exec", "-c", "a pod is one container"}, {"exec", "--container", "a pod is one container"},
	{"apply", "-d", "--no-wait returns once it is stored"}, {"apply", "--detach", "--no-wait returns once it is stored"},
	{"apply", "--build", "what has a `build` block is built where its source has changed; --force builds it again"},
	{"apply", "--force-recreate", "`tend restart SCOPE/NAME` replaces the pods"},
	{"apply", "--remove-orphans", "--prune deletes what the same files declared before"},
	{"delete", "-v", "--volumes removes the volumes of statefulsets too"},
	{"", "-q", "-o name prints names alone"}, {"", "--quiet", "-o name prints names alone"},
	{"ps", "-a", "pods that ended are listed as long as they are kept"},
	{"", "-r", "there are no remotes: name the server with --server ssh://user@host, or once with TEND_SERVER"},
	{"", "--remote", "there are no remotes: name the server with --server ssh://user@host, or once with TEND_SERVER"},
}

const scopeInName = "a scope is the first part of a name, SCOPE/NAME; `tend get -s SCOPE` lists one"

// remoteCommand replaces the predecessor's remotes.
func (a *app) remoteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remote", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "setup" {
				return errors.New("tend doesn't set a host up\n  install the package there (docs/operate/installing.md), then name it: --server ssh://user@host, or TEND_SERVER")
			}
			return fmt.Errorf("there are no remotes\n  %s", hintsOfFlags[len(hintsOfFlags)-1].hint)
		},
	}
}
