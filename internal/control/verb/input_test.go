package verb_test

import (
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/control/verb"
)

type input struct {
	For   time.Duration `query:"for" required:"true"`
	Times int           `query:"times"`
	Quiet bool          `query:"quiet" flag:"quiet" help:"say nothing"`
	Text  string        `query:"text" doc:"what is said"`
	At    int64         `query:"at"`
}

// TestAQueryIsReadAsItIsWritten: what Encode writes of an input, Decode reads.
func TestAQueryIsReadAsItIsWritten(t *testing.T) {
	for name, in := range map[string]input{
		"all":              {For: time.Hour, Times: -2, Quiet: true, Text: "a&b=c", At: 1 << 60},
		"what is required": {},
	} {
		query := verb.Encode(&in)
		got := input{}
		if faults := verb.Decode(query, &got); faults != nil {
			t.Errorf("%s: %v", name, faults)
		}
		if diff := cmp.Diff(in, got); diff != "" {
			t.Errorf("%s is read from %v as another:\n%s", name, query, diff)
		}
		if in.Text == "" && len(query) != 1 {
			t.Errorf("%s: %v has more than the one that is required", name, query)
		}
	}
}

func TestWhatCantBeReadIsNamed(t *testing.T) {
	for query, want := range map[string][]verb.Fault{
		"":                        {{Name: "for", Detail: "required query parameter is missing"}},
		"for=soon":                {{Name: "for", Detail: "is not a duration such as 30m or 1h30m"}},
		"for=1h&times=x&quiet=no": {{Name: "times", Detail: "invalid integer"}, {Name: "quiet", Detail: "invalid boolean"}},
		"for=x&loud=1":            {{Name: "loud", Detail: "unknown query parameter"}},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, verb.Decode(values, &input{})); diff != "" {
			t.Errorf("%s:\n%s", query, diff)
		}
	}
}

func TestParameters(t *testing.T) {
	for i, p := range verb.Parameters(reflect.TypeFor[input]()) {
		field := reflect.TypeFor[input]().Field(i)
		if p.Field != i || p.Type != field.Type || p.Name != field.Tag.Get("query") {
			t.Errorf("%+v is not field %s", p, field.Name)
		}
	}
}
