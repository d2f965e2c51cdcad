package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// familiarWords are the commands and kinds that users of docker, Compose, kubectl, Helm and kamal type and that Tend
// doesn't have, with what it has instead. Such a word is answered, never executed by guess.
var familiarWords = []struct {
	// verbs are commands there, and nouns kinds, which stand for commands in some.
	verbs, nouns []string
	here         string
}{
	{[]string{"down", "destroy", "undeploy", "uninstall", "remove", "del"}, nil,
		"`tend delete -f FILE` deletes what a manifest declares, `tend delete --scope SCOPE` all of a scope; volumes stay"},
	{[]string{"ls", "list", "status", "details"}, nil, "`tend get` lists objects, `tend get pods` their pods, `tend nodes` the machines"},
	{[]string{"inspect", "show"}, nil, "`tend describe SCOPE/NAME` says how an object is, `tend get SCOPE/NAME -o yaml` prints all of it"},
	{nil, []string{"service", "services", "svc", "endpoints", "ep"},
		"pods are reached by the name of their deployment, from outside by an ingress: `tend get ingresses`"},
	{nil, []string{"stack", "stacks", "namespace", "namespaces", "ns", "project", "projects"},
		"a scope is the folder of names, and each apply makes those it needs: `tend get -s SCOPE` lists what is in one"},
	{[]string{"compose"}, nil, "`tend import compose` makes manifests of a Compose file, `tend adopt compose` takes over what runs"},
	{[]string{"kubectl", "docker", "helm", "kamal"}, nil, "`tend --help` lists the commands here"},
	{[]string{"create", "install", "upgrade", "setup"}, nil, "`tend init` writes a first manifest, `tend apply -f FILE` creates and changes what one declares"},
	{[]string{"edit", "patch", "replace", "update", "set", "label", "annotate"}, nil,
		"change the manifest, then `tend apply -f FILE`; `tend diff -f FILE` shows first what changes"},
	{[]string{"rollout"}, nil, "`tend describe SCOPE/NAME` shows one, `tend restart SCOPE/NAME` begins one, `tend releases SCOPE/NAME` lists them and `tend rollback SCOPE/NAME` undoes one"},
	{[]string{"redeploy", "recreate"}, nil, "`tend restart SCOPE/NAME` replaces the pods, `tend apply --force` looks for the image again"},
	{[]string{"wait"}, nil, "`tend apply -f FILE` waits by itself until what it stored runs"},
	{[]string{"kill"}, nil, "`tend stop POD` stops a pod until `tend start`, `tend restart SCOPE/NAME` replaces all"},
	{[]string{"pause", "unpause"}, nil, "`tend stop SCOPE/NAME` stops pods, `tend ingress pause SCOPE/NAME` holds requests"},
	{[]string{"cp", "copy"}, nil, "`tend exec POD -- cat PATH > FILE` copies a file out, and `tend exec POD -- tee PATH < FILE` one in"},
	{[]string{"attach", "log"}, nil, "`tend logs SCOPE/NAME -f` follows the output"},
	{[]string{"sh", "bash", "shell", "ssh", "console", "debug"}, nil, "`tend exec SCOPE/NAME -- sh` runs a shell in a pod"},
	{[]string{"port-forward", "port", "expose", "proxy"}, nil,
		"`ports` in the manifest publishes ports of a pod on its node, and an ingress serves it at a host: `tend get ingresses`"},
	{[]string{"build", "push", "buildx"}, nil, "an apply builds what has a `build` block, and a node that needs the image gets it: `tend apply -f FILE`"},
	{[]string{"pull"}, nil, "a node pulls what it runs by itself; `tend apply --force` looks for the images again"},
	{[]string{"df"}, []string{"images", "image", "volume", "volumes", "pv", "pvc"}, "`tend system df` shows images and volumes on the disk of each node"},
	{nil, []string{"network", "networks"}, "pods of one machine reach each other by name; one network in a manifest joins those of several: `tend get network`"},
	{[]string{"login", "logout"}, nil, "a registry in a manifest says how to log in: `tend get registries`"},
	{nil, []string{"secret", "secrets", "env", "cm", "configmap", "configmaps"},
		"`tend config set SCOPE/NAME KEY=VALUE` sets a key of the environment, encrypted, and `tend config list SCOPE/NAME` lists them"},
	{[]string{"context", "contexts", "use", "connect"}, nil, "--server URL or TEND_SERVER names the server, and `tend version` says which one answers"},
	{[]string{"info", "cluster-info", "top-nodes"}, nil, "`tend nodes` lists the machines, `tend version` says which server answers"},
	{[]string{"swarm", "join", "bootstrap"}, nil, "`tend nodes add` says how another machine joins, `tend servers` lists those with the store"},
	{[]string{"explain", "api-resources"}, []string{"crd", "crds"}, "`tend schema` prints all kinds and fields of manifests"},
	{[]string{"autoscale"}, []string{"hpa"}, "`autoscale` in a manifest does it: `tend get deployments -o wide` shows what it decided"},
	{nil, []string{"rs", "replicaset", "replicasets"}, "`tend releases SCOPE/NAME` lists what was rolled out"},
	{nil, []string{"ds", "daemonset", "daemonsets"}, "a deployment with `mode = \"global\"` has a pod on each node: `tend get deployments`"},
	{nil, []string{"container", "containers"}, "each pod is one container: `tend get pods`"},
	{[]string{"accessory"}, nil, "a statefulset keeps data beside an app: `tend get statefulsets`"},
	{nil, []string{"sa", "serviceaccount", "serviceaccounts", "user", "users"}, "`tend tokens` lists the people and programs that may call"},
	{[]string{"lock"}, nil, "two applies at once end as if one came after the other: `tend audit` lists who called"},
	{[]string{"app"}, nil, "`tend logs SCOPE/NAME`, `tend exec SCOPE/NAME -- sh` and others take the app's name: `tend get apps` lists them"},
	{[]string{"taint"}, nil, "`tend cordon NODE` keeps new pods away from a node"},
}

// familiar returns what Tend has instead of a word of another tool; empty if it isn't one.
func familiar(word string) string {
	for _, f := range familiarWords {
		if word = strings.ToLower(word); slices.Contains(f.verbs, word) || slices.Contains(f.nouns, word) {
			return fmt.Sprintf("tend has no `%s`: %s", word, f.here)
		}
	}
	return ""
}

// familiarNoun is familiar for a word in the place of a kind or a name.
func familiarNoun(word string) string {
	for _, f := range familiarWords {
		if slices.Contains(f.nouns, strings.ToLower(word)) {
			return familiar(word)
		}
	}
	return ""
}

// familiarKind says of the kinds that a command line names by a word of another tool which ones they are here: a note,
// but for a deletion, which wants the word that is meant.
func (a *app) familiarKind(command *cobra.Command, args []string) error {
	for i, arg := range args {
		word, path, whole := strings.Cut(arg, "/")
		kind, err := parseKind(word)
		names := i+1 < len(args) || whole && strings.Contains(path, "/") || command.Name() == "get"
		switch {
		case !slices.Contains([]string{"get", "describe", "delete"}, command.Name()) || !names:
		case err != nil || familiarNoun(word) == "" || word == string(kind) || word == kind.Plural():
		case command.Name() == "delete":
			return fmt.Errorf("%s\n  to delete one, call it %s", familiar(word), kind)
		default:
			fmt.Fprintf(a.err, "note: %s; these are %s\n", familiar(word), kind.Plural())
			return nil
		}
	}
	return nil
}
