package server_test

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

// FuzzApply sends any body: the answer is a result or a problem, never an internal error, and a refused request stores
// nothing.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"deployment","scope":"prod","name":"web","spec":{"image":"web:1"}}`,
		`[{"kind":"deployment","scope":"a","name":"b"},{"kind":"deployment","scope":"a","name":"b"}]`,
		`[`, `null`, `{"spec":`, `{"kind":"deployment","scope":"p","name":"n","spec":{"ports":["3000:80"],"replicas":2}}`,
		`{"kind":"deployment","scope":"p","name":"n","metadata":{"deletedAt":"2026-01-01T00:00:00Z"},"spec":{"env":{"A":"1"}}}`,
	} {
		f.Add(seed)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body string) {
		w := *w
		w.t = t
		before := w.view.Revision()
		response, answer := w.raw("POST", "/v1/apply", "application/json", body)
		if response.StatusCode == 200 {
			var result api.ApplyResult
			if err := json.Unmarshal([]byte(answer), &result); err != nil || len(result.Objects) == 0 {
				t.Errorf("%q: %v, %s", body, err, answer)
			}
			return
		}
		if response.StatusCode >= 500 {
			t.Errorf("%q: the server failed: %s", body, answer)
		}
		wantProblem(t, response, answer, response.StatusCode)
		if w.view.Revision() != before {
			t.Errorf("%q: a refused apply stored something", body)
		}
	})
}
