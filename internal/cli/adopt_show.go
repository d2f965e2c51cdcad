package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/input/compose"
)

func join(names []string) string { return strings.Join(names, ", ") }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// showProject prints what becomes of each service, what differs from the files, and what stays with Compose.
func (a *app) showProject(p *composeProject, services []takeover.Service) {
	for _, finding := range p.read.Findings {
		if finding.Text == compose.NamelessVolume {
			continue // the service keeps it, as its own line says
		}
		fmt.Fprintln(a.err, printable(finding.String(), ""))
	}
	if len(p.read.Findings) > 0 {
		fmt.Fprintln(a.err)
	}
	fmt.Fprintf(a.err, "Compose project %s: %s to take over, in this order\n", p.name,
		countOf(countTaken(services), "service"))
	for _, unit := range takeover.Units(services) {
		if len(unit) > 1 {
			fmt.Fprintf(a.err, "  %s: together, since they write to the same volume\n", takeover.Names(unit))
		}
		for _, s := range unit {
			a.showService(p, s)
		}
	}
	for _, left := range p.left {
		fmt.Fprintf(a.err, "  not taken over: %s: %s\n", left.name, left.why)
	}
	if len(p.kept) > 0 {
		fmt.Fprintf(a.err, "  in Tend already, and stays declared: %s\n", words(p.kept))
	}
	fmt.Fprintf(a.err,
		"The manifests are written into %s. A service is down from its stop until its pod is ready. The steps:\n", p.file)
}

func countTaken(services []takeover.Service) (n int) {
	for _, unit := range takeover.Units(services) {
		n += len(unit)
	}
	return n
}

func (a *app) showService(p *composeProject, s takeover.Service) {
	var containers []string
	for _, c := range s.Containers {
		containers = append(containers, c.Original())
	}
	at := slices.IndexFunc(p.services, func(of composeService) bool { return of.name == s.Name })
	var objects []string
	for _, ref := range p.services[at].objects {
		objects = append(objects, ref.String())
	}
	if s.Once {
		containers = []string{"has run"}
	}
	if s.Once && p.services[at].again {
		containers = []string{"has run, and runs again in its turn"}
	}
	fmt.Fprintf(a.err, "  %s: %s -> %s\n", s.Name, join(containers), join(objects))
	if keeps := p.keeps[s.Name]; len(keeps) > 0 {
		fmt.Fprintf(a.err, "    keeps %s\n", join(keeps))
	}
	for _, note := range p.notes[s.Name] {
		fmt.Fprintf(a.err, "    %s\n", note)
	}
}

// nothingLeft says that a goal is reached already.
func nothingLeft(p *composeProject, goal takeover.Goal) string {
	switch goal {
	case takeover.Undo:
		if len(p.services) == 0 {
			return "no container of " + p.name + " is left to go back to: it was finished, or never ran on this engine"
		}
		return "nothing of " + p.name + " was taken over"
	case takeover.Finish:
		return "no old container of " + p.name + " is left"
	}
	if len(p.services) == 0 {
		return "nothing of " + p.name + " runs: tend init && tend apply starts it in Tend"
	}
	return "Tend runs " + p.name + " already" + nextLine("  ", p.command("--finish")+", or --undo")
}

// question describes what is about to happen.
func question(p *composeProject, goal takeover.Goal, services []takeover.Service) string {
	switch goal {
	case takeover.Undo:
		return "This deletes what Tend runs of " + p.name +
			" and starts the containers of Compose again; volumes and config stay."
	case takeover.Finish:
		return "This removes the old containers of " + p.name + "; their volumes stay. It can't be undone."
	}
	return fmt.Sprintf("This moves %s of %s to Tend.", countOf(countTaken(services), "service"), p.name)
}

// sayReached prints what holds now, and the ways on.
func (a *app) sayReached(p *composeProject, goal takeover.Goal) {
	switch goal {
	case takeover.Undo:
		fmt.Fprintf(a.out, "%s runs in Compose again; %s stays\n", p.name, p.file)
		for _, s := range p.services {
			if s.unlisted && slices.Contains(p.left, leftService{s.name, notInFiles, api.Ref{}}) {
				fmt.Fprintf(a.err, "  %s runs again too; to remove what the files no longer have: docker compose up -d --remove-orphans\n",
					s.name)
			}
			if s.once {
				fmt.Fprintf(a.err, "  %s stays declared, unless it went with the others: tend delete job %s/%s\n", s.objects[0],
					s.objects[0].Scope, s.objects[0].Name)
			}
		}
	case takeover.Finish:
		fmt.Fprintf(a.out, "the old containers of %s are removed\n", p.name)
	default:
		fmt.Fprintf(a.out, "Tend runs %s; its manifests are in %s\n", p.name, p.file)
		fmt.Fprintf(a.err, "  the way back: %s\n  once all is well: %s\n", p.command("--undo"), p.command("--finish"))
		fmt.Fprint(a.err,
			"  until then, no docker compose up or start in this project: it would start the old containers beside the pods\n")
	}
}
