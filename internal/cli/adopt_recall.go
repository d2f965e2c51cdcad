package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/input/compose"
	"tend.dev/tend/internal/input/manifest"
)

// recall adds what earlier adoptions did and the Compose files don't say: what must stay declared, and what must be
// given back or finished as well.
func (t *takingOver) recall(ctx context.Context, goal takeover.Goal) error {
	if goal == takeover.Adopt {
		return t.keep(ctx)
	}
	return t.addUnlisted(ctx)
}

// keep has the manifests still declare what Tend has and this run doesn't take over, such as services whose old
// containers were removed by --finish: the next apply with --prune would delete what the file no longer declares. A job
// stays as it is too once its container is gone: it has run, and a declaration that differs would run it again.
func (t *takingOver) keep(ctx context.Context) error {
	p := t.project
	have, err := os.ReadFile(p.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	written, err := manifest.Blocks(p.file, have)
	if err != nil {
		return nil //nolint:nilerr // write refuses such a file; with --force it is replaced
	}
	wanted, err := manifest.Blocks(p.file, p.text)
	if err != nil {
		return err
	}
	var texts [][]byte
	for _, block := range written {
		same := func(w manifest.Written) bool { return w.Ref == block.Ref }
		if block.Ref.Name == "" || slices.ContainsFunc(wanted, same) && !p.hasRun(block.Ref) {
			continue
		}
		object, err := t.client.Object(ctx, block.Ref)
		if client.IsNotFound(err) || err == nil && object.Metadata.Deleting() {
			continue
		}
		if err != nil {
			return err
		}
		p.kept, texts = append(p.kept, block.Ref), append(texts, block.Text)
		delete(p.dropped, block.Ref)
		wanted = slices.DeleteFunc(wanted, same)
		p.services = slices.DeleteFunc(p.services, func(s composeService) bool { return s.objects[0] == block.Ref })
	}
	if len(texts) == 0 {
		return nil
	}
	p.left = slices.DeleteFunc(p.left, func(l leftService) bool { return slices.Contains(p.kept, l.object) })
	if p.adds = len(texts) == len(written); p.adds {
		texts = [][]byte{bytes.TrimSpace(unsigned(have))}
	}
	for i, block := range wanted {
		texts = slices.Insert(texts, i, block.Text)
	}
	p.text = signed(append(bytes.Join(texts, []byte("\n\n")), '\n'))
	return nil
}

// hasRun reports whether an object is a job whose container is gone.
func (p *composeProject) hasRun(ref api.Ref) bool {
	return slices.ContainsFunc(p.services, func(s composeService) bool {
		return s.once && s.objects[0] == ref && len(p.containers[s.name]) == 0
	})
}

// addUnlisted adds the services that were taken over and that the files no longer have, or have as something else.
// Their containers and their objects are known without the files.
func (t *takingOver) addUnlisted(ctx context.Context) error {
	p := t.project
	for _, service := range sortedKeys(p.containers) {
		if len(p.markedOf(service)) == 0 {
			continue
		}
		at := slices.IndexFunc(p.services, func(s composeService) bool { return s.name == service })
		if at >= 0 {
			_, err := t.client.Object(ctx, p.services[at].objects[0])
			if err == nil {
				continue
			}
			if !client.IsNotFound(err) {
				return err
			}
		}
		objects, err := t.stored(ctx, compose.Label(service))
		switch {
		case err != nil:
			return err
		case at < 0:
			if len(objects) == 0 {
				objects = []api.Ref{{Kind: api.KindDeployment, Scope: p.read.Scope, Name: compose.Label(service)}}
			}
			p.services = append(p.services, composeService{name: service, objects: objects, unlisted: true})
		case len(objects) > 0: // the files have it as another kind since
			p.services[at].objects, p.services[at].once, p.services[at].unlisted = objects, false, true
		}
	}
	return nil
}

// stored returns what Tend has of a service: its workload, and the ingresses that lead to it.
func (t *takingOver) stored(ctx context.Context, name string) (refs []api.Ref, err error) {
	scope := t.project.read.Scope
	for _, kind := range []api.Kind{api.KindDeployment, api.KindJob} {
		ref := api.Ref{Kind: kind, Scope: scope, Name: name}
		_, err := t.client.Object(ctx, ref)
		if client.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	ingresses, err := t.client.Objects(ctx, api.KindIngress, client.ObjectFilter{Scope: scope})
	if err != nil {
		return nil, err
	}
	for _, ingress := range ingresses.Items {
		spec, err := api.DecodeSpec[api.IngressSpec](ingress)
		if err == nil && spec.Service == name {
			refs = append(refs, ingress.Ref())
		}
	}
	return refs, nil
}

// unfinished returns an error for services that Tend doesn't run, or not alone: their old containers are still needed.
func (p *composeProject) unfinished(services []takeover.Service) error {
	left := takeover.Unfinished(services)
	for _, s := range p.services {
		if s.unlisted && slices.Contains(left, s.name) {
			return fmt.Errorf("Tend doesn't run %s, or not well, and the files no longer take it over; nothing was removed\n"+
				"  to give the project back: %s; otherwise remove its old container: docker rm %s", s.name, p.command("--undo"),
				strings.Join(p.markedOf(s.name), " "))
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("not taken over yet: %s; nothing was removed%s", join(left), nextLine("  ", p.command()))
}

// markedOf returns the names of a service's containers that were taken over.
func (p *composeProject) markedOf(service string) (names []string) {
	for _, c := range p.containers[service] {
		if c.Marked() {
			names = append(names, c.Name)
		}
	}
	return names
}

// showUnlisted names what goes the same way although the files don't say so.
func (a *app) showUnlisted(p *composeProject, goal takeover.Goal) {
	does := "is given back"
	if goal == takeover.Finish {
		does = "is finished"
	}
	for _, s := range p.services {
		if s.unlisted {
			fmt.Fprintf(a.err, "  %s, which the files no longer take over, %s too: %s\n", s.name, does, words(s.objects))
		}
	}
}
