package compose

import (
	"fmt"
	"slices"
	"strings"
)

// Step is a step for the user to take after an import, before the next one.
type Step struct {
	// Text says what to do.
	Text string
	// Commands do it; there may be none.
	Commands []string
}

// steps collects what is left to do, by its place in the order.
type steps struct {
	variables, folders, files, volumes, secrets, hosts, runs []string
	// project is Compose's name of the project, if it may run here.
	project string
}

// list returns the steps up to apply, and those after it.
func (s steps) list(breaks int, apply string) (out []Step) {
	add := func(text string, commands ...string) { out = append(out, Step{Text: text, Commands: commands}) }
	if len(s.variables) > 0 {
		add("Give these variables a value, in .env beside the file or in the environment, and import again: " +
			strings.Join(s.variables, ", "))
	}
	if breaks > 0 {
		add(fmt.Sprintf("Settle what breaks: %s above.", places(breaks)))
	}
	if len(s.folders) > 0 {
		add("Make the folders that Compose would make:", "mkdir -p "+words(s.folders))
	}
	if len(s.files) > 0 {
		add("Put in place what is mounted and isn't there: " + strings.Join(unique(s.files), ", "))
	}
	if len(s.volumes) > 0 {
		add("Make the volumes that have drivers or options, unless they are there:", s.volumes...)
	}
	if len(s.secrets) > 0 {
		add("Store the secrets:", s.secrets...)
	}
	if s.project != "" {
		add("Where Compose runs it on this machine, let tend adopt compose move it, and stop here; "+
			"or end it first, without -v, so that its volumes stay:",
			"docker compose -p "+s.project+" down")
	}
	if len(s.hosts) > 0 {
		add("End the proxy that has ports 80 and 443, and let these names lead to this machine: " +
			strings.Join(unique(s.hosts), ", "))
	}
	add("Apply:", apply)
	if len(s.runs) > 0 {
		add("Run what runs on request, when it is wanted:", s.runs...)
	}
	return out
}

func places(n int) string {
	if n == 1 {
		return "one place"
	}
	return fmt.Sprintf("%d places", n)
}

// words returns the words of a command line, each once.
func words(list []string) string {
	var out []string
	for _, word := range unique(list) {
		out = append(out, quoted(word))
	}
	return strings.Join(out, " ")
}

func unique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
