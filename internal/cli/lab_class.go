package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// classError says that an address names a class of labs where one object is wanted.
type classError struct {
	class string
	labs  []api.Object
}

func (e *classError) Error() string {
	first := e.labs[0].Ref()
	return fmt.Sprintf("%s/%s is a class of %d labs: name one of them, such as %s/%s\n  `tend get lab %s/%s` lists them",
		first.Scope, e.class, len(e.labs), first.Scope, first.Name, first.Scope, e.class)
}

// unlessClass returns err, or a classError if it says that nothing has the name and a class of labs has it.
func unlessClass(ctx context.Context, c *client.Client, wanted address, err error) error {
	var absent *missingError
	if !errors.As(err, &absent) && !client.IsNotFound(err) {
		return err
	}
	if labs := labsOfClass(ctx, c, wanted); len(labs) > 0 {
		return &classError{class: wanted.name, labs: labs}
	}
	return err
}

// labsOfClass returns the labs of the class that an address names, in one scope; none if it names no class. A server
// that can't say names none.
func labsOfClass(ctx context.Context, c *client.Client, wanted address) []api.Object {
	if wanted.pod != "" || wanted.kind != "" && wanted.kind != api.KindLab {
		return nil
	}
	list, err := c.Objects(ctx, api.KindLab, client.ObjectFilter{Scope: wanted.scope})
	if err != nil {
		return nil
	}
	labs := slices.DeleteFunc(list.Items, func(object api.Object) bool {
		spec, err := api.DecodeSpec[api.LabSpec](object)
		return err != nil || spec.Class != wanted.name
	})
	if slices.ContainsFunc(labs, func(object api.Object) bool { return object.Scope != labs[0].Scope }) {
		return nil
	}
	slices.SortStableFunc(labs, func(x, y api.Object) int { return len(x.Name) - len(y.Name) }) // linux-2 before linux-10
	return labs
}
