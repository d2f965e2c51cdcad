package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// sayDeclared prints the next step for each job that was created or changed and that the apply didn't run.
func (a *app) sayDeclared(applied []api.Object, result api.ApplyResult) error {
	if a.structured() || a.output == "name" {
		return nil
	}
	changed := map[api.Ref]bool{}
	for _, object := range result.Objects {
		changed[object.Ref] = object.Action != api.ActionUnchanged
	}
	for _, object := range applied {
		if object.Kind != api.KindJob || !changed[object.Ref()] {
			continue
		}
		spec, err := api.DecodeSpec[api.JobSpec](object)
		if err != nil || spec.RunOnRelease {
			continue // the apply has shown its run
		}
		_, err = fmt.Fprintln(a.err, object.Ref().String()+" is declared; it runs on request"+
			nextLine("  ", "tend run "+objectWords(object.Ref())))
		if err != nil {
			return err
		}
	}
	return nil
}
