package verbs

import (
	"net/url"
	"reflect"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
)

// ask carries out a declared verb by its name and its query, as the server does.
func ask(t *testing.T, s *Service, name string, target Target, query string) (api.VerbResult, error) {
	t.Helper()
	i := slices.IndexFunc(All(), func(d Declared) bool { return d.Name == name })
	values, err := url.ParseQuery(query)
	if i < 0 || err != nil {
		t.Fatalf("there is no verb %s, or its query can't be read: %v", name, err)
	}
	input := reflect.New(All()[i].In).Interface()
	if faults := verb.Decode(values, input); len(faults) > 0 {
		t.Fatal(faults)
	}
	answer, err := All()[i].Do(t.Context(), s, target, "ann", input)
	result, _ := answer.(api.VerbResult)
	return result, err
}

func (w *world) ask(name string, target Target, query string) (api.VerbResult, error) {
	w.t.Helper()
	return ask(w.t, w.service, name, target, query)
}
