package verbs

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/records"
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

// CheckRights returns an error if a person may not declare one of the objects at all, by its kind and its scope. What is in
// an object counts only if the apply changes it.
func CheckRights(ctx context.Context, objects []api.Object) error {
	rights := RightsOf(ctx)
	for _, object := range objects {
		if rights.Trusted {
			break
		}
		if fault := rights.RefuseScope(object); fault != nil {
			return forbid(fault)
		}
	}
	return nil
}

// checkProgram returns an error if a person may not have an object run another program.
func checkProgram(ctx context.Context, object api.Object) error {
	if rights := RightsOf(ctx); !rights.Trusted {
		if fault := rights.Refuse(object); fault != nil {
			return forbid(fault)
		}
	}
	return nil
}

// checkPruned returns an error if an apply of a person would delete what the person may not declare.
func (o ApplyOptions) checkPruned(pruned []records.Read[api.Object]) error {
	for _, object := range pruned {
		if o.rights.Person == "" {
			break // a sync prunes what it created
		}
		if fault := o.rights.RefuseScope(*object.Value); fault != nil {
			return forbid(fault)
		}
	}
	return nil
}

// refused returns the error of an apply that its source, or its person, may not make.
func (o ApplyOptions) refused(fault *source.Error) error {
	if o.rights.Person == "" {
		return fault
	}
	return forbid(fault)
}

// forbid returns the error of what only an admin may do.
func forbid(fault *source.Error) error {
	return &Error{Reason: Forbidden, Detail: fault.Message + "; nothing was stored", Next: fault.Next}
}
