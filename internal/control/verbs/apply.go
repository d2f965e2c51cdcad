package verbs

import (
	"context"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// ApplyOptions are the options of an apply.
type ApplyOptions struct {
	// DryRun decides and answers, but stores nothing.
	DryRun bool
	// Prune deletes the objects that Set applied before and that are not among the objects now.
	Prune bool
	// Force makes every object resolve its image again.
	Force bool
	// Set names the sources of the apply; empty leaves the objects' set as it is.
	Set string
	// Sync is the sync that applies, as it was read: the apply is refused once that was changed otherwise, or is gone.
	// Default: no sync applies.
	Sync *api.Object
	// SyncRevision is the revision of its source that Sync applies.
	SyncRevision string
	// Made are the objects that a plugin made. The broker of plugins alone sets it: an object that is not in it loses
	// what its containers may do as those of a plugin.
	Made map[api.Ref]Made
	FieldManager

	// rights are the rights of Sync's source, or else of the person who applies.
	rights source.Rights
}

// Made records how a plugin made an object.
type Made struct {
	// Macro is the macro that it stands for, as api.StampMacro has it; empty if it stands for none.
	Macro string
	// Dotted is the name that the plugin gave it with dots, if it has any.
	Dotted string
}

// Apply stores all the objects or none. Objects that are unchanged are not written.
func (s *Service) Apply(ctx context.Context, objects []api.Object, opts ApplyOptions) (api.ApplyResult, error) {
	if err := checkRequest(objects, opts); err != nil {
		return api.ApplyResult{}, err
	}
	if err := opts.check(); err != nil {
		return api.ApplyResult{}, err
	}
	if err := opts.setRights(ctx); err != nil {
		return api.ApplyResult{}, err
	}
	if err := CheckRights(ctx, objects); err != nil {
		return api.ApplyResult{}, err
	}
	if checkObjects(objects, api.CheckDeclared) != nil {
		return api.ApplyResult{}, checkObjects(objects, s.declared) // with all other errors
	}
	files := &possession{service: s, rights: opts.rights}
	if err := s.holdTrees(ctx, objects, files, opts.DryRun); err != nil {
		return api.ApplyResult{}, err
	}
	objects, gathered, err := s.materialize(ctx, objects, files, opts.DryRun)
	if err != nil {
		return api.ApplyResult{}, err
	}
	valid := s.valid(objects)
	if err := s.checkConfined(ctx, objects, valid, gathered, opts); err != nil {
		return api.ApplyResult{}, err
	}
	prepare := func(snap records.Snapshot) (*applyDecision, error) {
		return s.prepareApply(snap, objects, valid, gathered, opts)
	}
	gathered.occupied, gathered.images = s.occupied(ctx, objects), s.findImages(ctx, objects, opts)
	if opts.DryRun {
		decided, _, err := consider(ctx, s, func(snap records.Snapshot) (*applyDecision, error) {
			decided, err := prepare(snap)
			if err != nil {
				return nil, err
			}
			return decided, s.preview(snap, decided)
		})
		if err != nil {
			return api.ApplyResult{}, err
		}
		decided.result.DryRun = true
		return shown(decided.result, opts.rights), nil
	}
	decided, revision, err := decideThrough(opts.asks(ctx, "apply"), s, opts.Through, prepare)
	if err != nil {
		return api.ApplyResult{}, err
	}
	result := decided.result
	result.Revision = revision
	for i := range result.Objects {
		if result.Objects[i].Action != api.ActionUnchanged || result.Objects[i].Retried {
			result.Objects[i].Revision = revision
		}
	}
	s.note(ctx, "apply", opts.Actor, revision, decided.written()...)
	return shown(result, opts.rights), nil
}

// checkConfined decides an apply whose rights are limited before nodes are asked about it: none is if it is refused.
func (s *Service) checkConfined(
	ctx context.Context, objects []api.Object, valid map[api.Ref]string, m material, opts ApplyOptions,
) error {
	if !opts.confined() {
		return nil
	}
	_, _, err := consider(ctx, s, func(snap records.Snapshot) (*applyDecision, error) {
		return s.prepareApply(snap, objects, valid, m, opts)
	})
	return err
}

// valid returns the specs of the objects in which no error was found, before the verb has its turn: an object that is
// stored as it was declared is not checked again within it.
func (s *Service) valid(objects []api.Object) map[api.Ref]string {
	out := make(map[api.Ref]string, len(objects))
	for _, object := range objects {
		object.Spec = normalSpec(object.Spec)
		if len(checkObject(object, s.opts.Validate)) == 0 {
			out[object.Ref()] = string(object.Spec)
		}
	}
	return out
}

// unless returns validate for the objects that are not known to be valid.
func unless(valid map[api.Ref]string, validate func(api.Object) []api.FieldError) func(api.Object) []api.FieldError {
	return func(object api.Object) []api.FieldError {
		if spec, known := valid[object.Ref()]; known && spec == string(object.Spec) {
			return nil
		}
		return validate(object)
	}
}

func (s *Service) preview(snap records.Snapshot, decided *applyDecision) error {
	if s.opts.Preview == nil {
		return nil
	}
	next := slices.Clone(decided.next)
	for _, p := range decided.placed { // a cluster may have one otherwise than it is stored
		if p.next.Kind.Delivered() && !slices.ContainsFunc(next,
			func(o api.Object) bool { return o.Ref() == p.next.Ref() }) {
			next = append(next, p.next)
		}
	}
	plan, err := s.opts.Preview(snap.With(nil, decided.answers...), next, decided.result.Pruned)
	decided.result.Plan = plan
	return err
}

// declared returns every error in an object as it was declared.
func (s *Service) declared(object api.Object) []api.FieldError {
	found := api.CheckDeclared(object)
	if s.opts.Validate != nil {
		found = append(s.opts.Validate(object), found...)
	}
	return found
}
