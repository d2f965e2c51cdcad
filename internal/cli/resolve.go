package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// storedAs returns the kinds whose objects a kind stands for: an app is two, any other is itself.
func storedAs(kind api.Kind) []api.Kind {
	if parts := kind.Info().StandsFor; len(parts) > 0 {
		return parts
	}
	return []api.Kind{kind}
}

// resolve completes an address to one object. An ambiguous address is an error that lists the candidates. Without a
// kind, an object that runs containers wins over one that only has the same name, such as the ingress to it.
func resolve(ctx context.Context, c *client.Client, wanted address) (api.Ref, error) {
	return resolveAmong(ctx, c, wanted, workloadsFirst)
}

// resolveExactly is resolve for irreversible actions: a name that several kinds have is ambiguous, and KIND/NAME is
// refused, since it could name an object of any scope once the one in a scope of that name is gone.
func resolveExactly(ctx context.Context, c *client.Client, wanted address) (api.Ref, error) {
	ref, err := resolveAmong(ctx, c, wanted, func(found []api.Ref) []api.Ref { return found })
	if err != nil || !wanted.outside(ref) {
		return ref, err
	}
	kind, err := parseKind(wanted.scope)
	if err != nil || len(kind.Info().StandsFor) == 0 {
		kind = ref.Kind
	}
	return api.Ref{}, &missingError{what: wanted.String(), next: fmt.Sprintf(
		"to delete that of the scope %s: tend delete %s %s/%s", ref.Scope, kind, ref.Scope, ref.Name)}
}

func workloadsFirst(found []api.Ref) []api.Ref {
	var workloads []api.Ref
	for _, ref := range found {
		if ref.Kind.HasContainers() {
			workloads = append(workloads, ref)
		}
	}
	if len(workloads) > 0 {
		return workloads
	}
	return found
}

func resolveAmong(
	ctx context.Context, c *client.Client, wanted address, choose func([]api.Ref) []api.Ref,
) (api.Ref, error) {
	wanted.kind = storedAs(wanted.kind)[0] // of an app the deployment, which carries what it runs
	if wanted.pod != "" {
		return api.Ref{}, fmt.Errorf("%s is a pod: name the object it belongs to as SCOPE/NAME", wanted.pod)
	}
	if wanted.kind != "" && wanted.scope != "" {
		return api.Ref{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}, nil
	}
	found, err := candidates(ctx, c, wanted)
	if err != nil {
		return api.Ref{}, err
	}
	if !severalScopes(found, wanted.scope) {
		found = choose(found)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Ref{}, unlessClass(ctx, c, wanted, missing(ctx, c, wanted))
	}
	names := make([]string, len(found))
	for i, ref := range found {
		names[i] = ref.String()
	}
	return api.Ref{}, fmt.Errorf("%s is ambiguous: say which of %s", wanted, strings.Join(names, ", "))
}

// severalScopes reports whether some objects are in the scope that was asked for, and others are in none.
func severalScopes(found []api.Ref, scope string) bool {
	in := func(ref api.Ref) bool { return ref.Scope == scope }
	out := func(ref api.Ref) bool { return !in(ref) }
	return scope != "" && slices.ContainsFunc(found, in) && slices.ContainsFunc(found, out)
}

// candidates returns the objects that an address may name. The scope of one without a kind may be a kind instead, also
// by its short name: KIND/NAME, as other tools write it. A kind counts if no such scope has any object; one whose
// objects need no scope counts in any case, so that the address may be ambiguous.
func candidates(ctx context.Context, c *client.Client, wanted address) ([]api.Ref, error) {
	found, err := matching(ctx, c, wanted)
	kind, is := kindAsScope(wanted)
	if err != nil || !is {
		return found, err
	}
	if kind.Info().Scope != api.ScopeRequired {
		more, err := matching(ctx, c, address{kind: kind, scope: api.Unscoped, name: wanted.name})
		if found = append(found, more...); err != nil {
			return nil, err
		}
	}
	if len(found) > 0 || isScope(ctx, c, wanted.scope) {
		return found, nil
	}
	return matching(ctx, c, address{kind: kind, name: wanted.name})
}

// outside reports whether an address without a kind was taken for KIND/NAME, and so names an object of another scope
// than the one that is written.
func (a address) outside(ref api.Ref) bool {
	return a.kind == "" && a.scope != "" && ref.Scope != a.scope && ref.Scope != api.Unscoped
}

// kindAsScope returns the kind that an address may name in the place of a scope.
func kindAsScope(wanted address) (kind api.Kind, is bool) {
	if wanted.kind != "" || wanted.scope == "" {
		return "", false
	}
	kind, err := parseKind(wanted.scope)
	return storedAs(kind)[0], err == nil
}

// spelled returns an address of the form KIND/NAME with the scope of the object that it names. there is false if a
// kind, or another tool's word for one, stands in the place of the scope and the address names nothing. Of other
// addresses it doesn't find that out.
func spelled(ctx context.Context, c *client.Client, wanted address) (spelt address, there bool, err error) {
	if _, is := kindAsScope(wanted); !is {
		other := wanted.kind == "" && familiarNoun(wanted.scope) != ""
		return wanted, !other || isScope(ctx, c, wanted.scope), nil
	}
	found, err := candidates(ctx, c, wanted)
	if err != nil || len(found) == 0 || !wanted.outside(found[0]) {
		return wanted, len(found) > 0, err
	}
	ref, err := resolve(ctx, c, wanted)
	return address{kind: ref.Kind, scope: ref.Scope, name: ref.Name}, true, err
}

func matching(ctx context.Context, c *client.Client, wanted address) ([]api.Ref, error) {
	among := api.KindsThat(api.Kind.Stored)
	if wanted.kind != "" {
		among = []api.Kind{wanted.kind}
	}
	var found []api.Ref
	for _, kind := range among {
		list, err := c.Objects(ctx, kind, client.ObjectFilter{Scope: wanted.scope})
		if err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			if wanted.matches(object.Kind, object.Scope, object.Name) {
				found = append(found, object.Ref())
			}
		}
	}
	return found, nil
}

// podsOf returns the pods an address names, at least one.
func podsOf(ctx context.Context, c *client.Client, wanted address) ([]api.Pod, error) {
	if wanted.pod != "" {
		pod, err := c.Pod(ctx, wanted.pod)
		return []api.Pod{pod}, err
	}
	ref, err := resolve(ctx, c, wanted)
	if err != nil {
		return nil, err
	}
	if _, err := c.Object(ctx, ref); err != nil {
		return nil, unlessClass(ctx, c, wanted, err)
	}
	list, err := c.Pods(ctx, client.PodFilter{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name})
	return list.Items, err
}
