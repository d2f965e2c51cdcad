package verbs

import (
	"context"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

type rightsKey struct{}

// WithRights returns a context whose verbs are those of a person with rights.
func WithRights(ctx context.Context, rights source.Rights) context.Context {
	return context.WithValue(ctx, rightsKey{}, rights)
}

// RightsOf returns the rights of the person whose verbs a context is for. Default: all.
func RightsOf(ctx context.Context) source.Rights {
	if rights, ok := ctx.Value(rightsKey{}).(source.Rights); ok {
		return rights
	}
	return source.Rights{Trusted: true}
}

// CheckRights returns an error if a person may not declare one of the objects at all, by its kind and its scope. What
// is in an object counts only if the apply changes it.
func CheckRights(ctx context.Context, objects []api.Object) error {
	rights := RightsOf(ctx)
	var all refusals
	for _, object := range objects {
		if rights.Trusted {
			break
		}
		if fault := rights.RefuseScope(object); fault != nil {
			all = append(all, refusal{object.Ref(), fault})
		}
	}
	return all.err()
}

// checkProgram returns an error if a person may not have an object run another program. stored is the object as it is
// stored, next as it will be.
func (s *Service) checkProgram(ctx context.Context, snap records.Snapshot, stored, next api.Object) error {
	rights := RightsOf(ctx)
	if rights.Trusted {
		return nil
	}
	return s.refusalsOfChange(rights, snap, &stored, &stored, next).err()
}

// refusalsOfChange returns why one who isn't trusted may not make an object what next is. A person may not either while
// the stored object has what only an admin gives (RefuseTaking). stored is nil for a new object; had is that of
// rightsOver.
func (s *Service) refusalsOfChange(
	rights source.Rights, snap records.Snapshot, stored, had *api.Object, next api.Object,
) refusals {
	all := refusalsOf(s.rightsOver(rights, snap, had), next)
	if len(all) > 0 || stored == nil || rights.Person == "" {
		return all
	}
	for _, fault := range rights.RefuseTaking(*stored) {
		all = append(all, refusal{stored.Ref(), fault})
	}
	return all
}

// rightsOver returns rights with the ports that they may not take: those of the servers that run, but not those which
// the object has already. stored is the object as it is stored; nil if it isn't.
func (s *Service) rightsOver(rights source.Rights, snap records.Snapshot, stored *api.Object) source.Rights {
	rights.TendPorts, rights.Stored = s.tendPorts(snap), stored
	return rights
}

// hadBy returns the stored object for rightsOver; nil for a sync whose source doesn't name a port of Tend's that the
// object takes: a user gave it.
func (s *Service) hadBy(
	snap records.Snapshot, stored *api.Object, declared, next api.Object, opts ApplyOptions,
) *api.Object {
	declared.Metadata.Stamps = map[string]string{api.StampConfined: "true"}
	if opts.Sync != nil && len(ports.NewlyReserved(next, &declared, s.tendPorts(snap))) > 0 {
		return nil
	}
	return stored
}

// give records on an object which ports of Tend's it gets by a change of one who may give them.
func (s *Service) give(snap records.Snapshot, stored, next *api.Object) {
	next.Metadata.Stamps = stamped(next.Metadata.Stamps, api.StampGivenPorts, ports.Give(*next, stored, s.tendPorts(snap)))
}

// tendPorts returns the ports at which this server listens, and those at which others that run say that they do: one
// that is alone says nothing.
func (s *Service) tendPorts(snap records.Snapshot) []int {
	out := slices.Clone(s.opts.Ports)
	for record := range snap.Prefix(records.ServersPrefix) {
		if presence, ok := record.Value.(*api.ServerPresence); ok {
			out = append(out, presence.Ports...)
		}
	}
	return out
}

// checkPruned returns an error if an apply would delete what its person may not declare, or what only an admin may
// remove. A sync prunes only what it created, so it needs no right to declare that now.
func (o ApplyOptions) checkPruned(pruned []records.Read[api.Object]) error {
	for _, object := range pruned {
		if fault := o.rights.RefuseScope(*object.Value); fault != nil && o.rights.Person != "" {
			return forbid(fault)
		}
		if err := refuseRemoval(o.rights, *object.Value); err != nil {
			return err
		}
	}
	return nil
}

// refuseRemoval returns an error if who isn't trusted may not delete an object: one that only an admin can declare
// again, and whose volumes and config would be those of the next object of its name.
func refuseRemoval(rights source.Rights, object api.Object) error {
	for _, fault := range rights.RefuseTaking(object) {
		return &Error{Reason: Forbidden, Detail: fault.Message + "; nothing was deleted",
			Next: "ask an admin to delete it; tend stop, and tend scale to 0, end its pods"}
	}
	return nil
}

// refusal is a reason for which a person may not declare an object.
type refusal struct {
	ref   api.Ref
	fault *source.Error
}

// refusals are all reasons of an apply: who has to ask an admin should have to ask once.
type refusals []refusal

func refusalsOf(rights source.Rights, object api.Object) (all refusals) {
	for _, fault := range rights.RefuseAll(object) {
		all = append(all, refusal{object.Ref(), fault})
	}
	return all
}

// err returns the error that says all of them; nil if there are none.
func (r refusals) err() error {
	switch len(r) {
	case 0:
		return nil
	case 1:
		return forbid(r[0].fault)
	}
	found := &faults{}
	for _, one := range r {
		detail := strings.TrimLeft(strings.TrimPrefix(one.fault.Message, one.ref.String()), ": ")
		found.add(Forbidden, one.ref, "", one.fault.Next, "%s", detail)
	}
	return found.err(plural(found.count, "refusal") + "; nothing was stored" + listed(found.count))
}

// forbid returns the error of what only an admin may do.
func forbid(fault *source.Error) error {
	return &Error{Reason: Forbidden, Detail: fault.Message + "; nothing was stored", Next: fault.Next}
}
