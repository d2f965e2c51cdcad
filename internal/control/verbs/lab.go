package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// The bounds of one extension. The whole time of a lab is bound by api.MaxLabDuration besides.
const (
	minExtension = time.Second
	maxExtension = api.MaxLabDuration
)

// ExtendLabs gives a lab, or all labs of a class that have not ended, more time. It is recorded beside the spec.
func (s *Service) ExtendLabs(
	ctx context.Context, target Target, more time.Duration, actor string,
) (api.LabResult, error) {
	if more < minExtension || more > maxExtension {
		return api.LabResult{}, invalid("say how much more, such as 30m", "%s is outside %s to %s",
			api.ShortDuration(more), api.ShortDuration(minExtension), api.ShortDuration(maxExtension))
	}
	key, _ := keyedRun(ctx)
	return s.orderLabs(ctx, "lab extend", target, actor, func(l *ordered) error {
		repeated := func(e api.LabExtension) bool { return key != "" && e.Key == key }
		switch {
		case slices.ContainsFunc(l.orders.Extensions, repeated):
			return nil
		case l.status.Phase.Ended():
			return l.notRunning("has ended (%s)", l.status.Phase)
		}
		if whole := l.spec.Duration.Or(0) + l.orders.Extended; more > api.MaxLabDuration-whole {
			return invalid("ask for less", "%s and %s more are longer than a lab may run: %s", whole, more,
				api.MaxLabDuration)
		}
		l.orders.Extended += more
		l.orders.Extensions = append(l.orders.Extensions,
			api.LabExtension{By: actor, At: s.opts.Now().UTC(), For: more, Key: key})
		l.orders.Extensions = l.orders.Extensions[max(0, len(l.orders.Extensions)-api.MaxLabExtensions):]
		l.changed = true
		return nil
	})
}

// StopLabs ends a lab, or all labs of a class that have begun, before their time is over.
func (s *Service) StopLabs(ctx context.Context, target Target, actor string) (api.LabResult, error) {
	return s.orderLabs(ctx, "lab stop", target, actor, func(l *ordered) error {
		switch phase := l.status.Phase; {
		case l.orders.StoppedBy != "":
			return nil
		case phase.Ended():
			return l.notRunning("has ended (%s)", phase)
		case phase != api.LabProvisioning && phase != api.LabRunning:
			return l.notRunning("has not begun: to keep it from beginning, delete it")
		}
		l.orders.StoppedBy, l.orders.StoppedAt = cmp.Or(actor, "a person"), s.opts.Now().UTC()
		l.changed = true
		return nil
	})
}

// ordered is a lab with what people have asked of it.
type ordered struct {
	ref    api.Ref
	spec   api.LabSpec
	status api.LabStatus
	orders api.LabOrders
	// changed is set if the orders are to be written.
	changed bool
}

func (l *ordered) notRunning(format string, args ...any) error {
	return &Error{Reason: LabNotRunning, Detail: l.ref.String() + " " + fmt.Sprintf(format, args...),
		Next: fmt.Sprintf("tend delete lab %s/%s; applying its manifest then declares another one", l.ref.Scope,
			l.ref.Name)}
}

// orderLabs has change decide about each lab of a target. Of a class it leaves out those that refuse, if not all do.
func (s *Service) orderLabs(
	ctx context.Context, verb string, target Target, actor string, change func(*ordered) error,
) (api.LabResult, error) {
	decided, revision, err := decide(FieldManager{Actor: actor}.asks(ctx, verb), s,
		func(snap records.Snapshot) (*Decision[api.LabResult], error) {
			found, err := target.findLabs(snap)
			if err != nil {
				return nil, err
			}
			return prepareOrders(snap, strings.ReplaceAll(verb, " ", "."), found, change)
		})
	if err != nil {
		return api.LabResult{}, err
	}
	decided.result.Changed = revision != 0
	decided.result.Revision = revision
	refs := make([]api.Ref, 0, len(decided.result.Labs))
	for _, changed := range decided.result.Labs {
		refs = append(refs, changed.Lab)
	}
	s.note(ctx, verb, actor, revision, refs...)
	return decided.result, nil
}

func prepareOrders(
	snap records.Snapshot, site string, found []records.Read[api.Object], change func(*ordered) error,
) (*Decision[api.LabResult], error) {
	d := &Decision[api.LabResult]{txn: records.NewTxn(site)}
	var refused error
	for _, object := range found {
		l, stored, status, err := readLab(snap, object)
		if err == nil {
			err = change(l)
		}
		if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		answer := api.LabChanged{Lab: l.ref, Stopped: l.orders.StoppedBy != ""}
		if l.orders.Extended > 0 {
			answer.Extended = api.Duration(l.orders.Extended.String())
		}
		if !l.status.StartedAt.IsZero() {
			answer.EndsAt = l.status.StartedAt.Add(l.spec.Duration.Or(0) + l.orders.Extended)
		}
		d.result.Labs = append(d.result.Labs, answer)
		if l.changed {
			// A lab whose phase changes meanwhile is decided about again: it may have ended.
			d.txn.If(records.ObjectKey(l.ref), object.Modified).If(records.StatusKey(l.ref), status)
			d.txn.If(records.LabKey(l.ref), stored).Put(records.LabKey(l.ref), l.orders)
		}
	}
	if len(d.result.Labs) == 0 {
		return nil, refused
	}
	return d, nil
}

// checkExtended refuses a duration that is, with the extensions of a lab, longer than a lab may run.
func checkExtended(snap records.Snapshot, written []api.Object, found *faults) {
	for _, object := range written {
		if object.Kind != api.KindLab {
			continue
		}
		orders, spec := snap.LabOrders(object.Ref()), api.LabSpec{}
		if !orders.Exists() || orders.Value.OwnerUID != object.Metadata.UID ||
			json.Unmarshal(object.Spec, &spec) != nil {
			continue
		}
		if more := orders.Value.Extended; spec.Duration.Or(0) > api.MaxLabDuration-more {
			found.add(Invalid, object.Ref(), "duration", "ask for less",
				"%s and the %s that it was extended by are longer than a lab may run: %s", spec.Duration, more,
				api.MaxLabDuration)
		}
	}
}

// readLab returns a lab, with the revisions of its orders and of its status.
func readLab(snap records.Snapshot, object records.Read[api.Object]) (l *ordered, orders, status int64, err error) {
	l = &ordered{ref: object.Value.Ref(), orders: api.LabOrders{OwnerUID: object.Value.Metadata.UID}}
	if object.Value.Metadata.Deleting() {
		return l, 0, 0, terminating(l.ref)
	}
	if l.spec, err = api.DecodeSpec[api.LabSpec](*object.Value); err != nil {
		return l, 0, 0, invalid("apply a corrected manifest", "%s can't be read: %v", l.ref, err)
	}
	stored, shown := snap.LabOrders(l.ref), snap.LabStatus(l.ref)
	if shown.Exists() {
		l.status = *shown.Value
	}
	if stored.Exists() && stored.Value.OwnerUID == l.orders.OwnerUID {
		l.orders = *stored.Value
		l.orders.Extensions = slices.Clone(l.orders.Extensions)
	}
	return l, stored.Modified, shown.Modified, nil
}

// findLabs returns the lab of a name, or else all labs of the class of that name, in one scope.
func (t Target) findLabs(snap records.Snapshot) ([]records.Read[api.Object], error) {
	if t.Kind != "" && t.Kind != api.KindLab {
		return nil, invalid("name a lab or a class of labs", "%s is not a lab", t)
	}
	if t.Name == "" {
		return nil, invalid("say which lab: scope and name", "no name given")
	}
	var named, class []records.Read[api.Object]
	for object := range snap.Objects(api.KindLab) {
		if t.Scope != "" && t.Scope != object.Value.Scope {
			continue
		}
		if object.Value.Name == t.Name {
			named = append(named, object)
		} else if spec, err := api.DecodeSpec[api.LabSpec](*object.Value); err == nil && spec.Class == t.Name {
			class = append(class, object)
		}
	}
	found := named
	if len(named) == 0 {
		found = class
	}
	switch {
	case len(found) == 0:
		return nil, &Error{Reason: NotFound, Detail: "there is no lab and no class " +
			Target{Scope: t.Scope, Name: t.Name}.String(),
			Next:   "`tend get labs` lists what there is",
			Wanted: Target{Kind: api.KindLab, Scope: t.Scope, Name: t.Name}}
	case slices.ContainsFunc(found,
		func(r records.Read[api.Object]) bool { return r.Value.Scope != found[0].Value.Scope }):
		return nil, &Error{Reason: Ambiguous, Detail: "several scopes have a lab or a class " + t.Name,
			Next: "name it as SCOPE/NAME"}
	}
	return found, nil
}
