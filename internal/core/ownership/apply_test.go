package ownership

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// object takes a test's changes; each comes a minute after the one before.
type object struct {
	t      *testing.T
	spec   string
	fields json.RawMessage
	now    time.Time
}

func tree(t testing.TB, spec string) Tree {
	t.Helper()
	out, err := Parse(json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (o *object) stored() Stored {
	return Stored{Spec: tree(o.t, o.spec), Fields: o.fields, Since: noon.Add(-time.Hour)}
}

func (o *object) outcome(manager, spec string) Outcome {
	o.t.Helper()
	o.now = o.now.Add(time.Minute)
	out, err := Apply(o.stored(), tree(o.t, spec), Change{Manager: manager, Actor: "by-" + manager, At: o.now})
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

func (o *object) store(out Outcome) {
	spec, err := Text(out.Spec)
	if err != nil {
		o.t.Fatal(err)
	}
	o.spec, o.fields = string(spec), out.Fields
}

// owners returns the blame in short: path=value manager@minute, a line each.
func (o *object) owners() []string {
	o.t.Helper()
	lines, err := Blame(o.stored())
	if err != nil {
		o.t.Fatal(err)
	}
	out := []string{}
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s=%s %s@%d", l.Path, l.Value, l.Manager, int(l.At.Sub(noon).Minutes())))
	}
	return out
}

func TestApply(t *testing.T) {
	type step struct{ manager, spec string }
	const people, scaler, sync = api.ManagerApply, "autoscaler", "sync"
	cases := map[string]struct {
		reason string
		// before is a spec that was stored when owners were not recorded.
		before    string
		steps     []step
		want      []string
		conflicts []string
	}{
		"created": {"who creates sets all", "", []step{{people, `{"image":"a","env":{"B":"2","A":"1"}}`}},
			[]string{`env.A="1" apply@1`, `env.B="2" apply@1`, `image="a" apply@1`}, nil},
		"changed": {"what stays keeps its time", "",
			[]step{{people, `{"image":"a","replicas":1}`}, {people, `{"image":"b","replicas":1.0}`}},
			[]string{`image="b" apply@2`, `replicas=1.0 apply@1`}, nil},
		"released": {"left out, it is gone", "",
			[]step{{people, `{"image":"a","env":{"A":"1","B":"2"}}`}, {people, `{"image":"a","env":{"A":"1"}}`}},
			[]string{`env.A="1" apply@1`, `image="a" apply@1`}, nil},
		"beside": {"each owns its own", "", []step{{people, `{"image":"a"}`}, {scaler, `{"replicas":3}`}},
			[]string{`image="a" apply@1`, `replicas=3 autoscaler@2`}, nil},
		"not reset": {"a file that leaves it out resets nothing", "",
			[]step{{people, `{"image":"a"}`}, {scaler, `{"replicas":3}`}, {people, `{"image":"b"}`}},
			[]string{`image="b" apply@3`, `replicas=3 autoscaler@2`}, nil},
		"together": {"the same value doesn't conflict", "",
			[]step{{people, `{"image":"a"}`}, {scaler, `{"replicas":3}`}, {people, `{"image":"a","replicas":3}`}},
			[]string{`image="a" apply@1`, `replicas=3 autoscaler@2`, `replicas=3 apply@3`}, nil},
		"one of two leaves": {"the other still owns it", "",
			[]step{{scaler, `{"replicas":3}`}, {people, `{"image":"a","replicas":3}`}, {people, `{"image":"a"}`}},
			[]string{`image="a" apply@2`, `replicas=3 autoscaler@1`}, nil},
		"taken over": {"force moves it", "",
			[]step{{people, `{"image":"a"}`}, {scaler, `{"replicas":3}`}, {people, `{"image":"a","replicas":5}`}},
			[]string{`image="a" apply@1`, `replicas=5 apply@3`}, []string{`replicas: autoscaler/by-autoscaler@2 set 3`}},
		"two owners": {"each is named", "",
			[]step{{scaler, `{"replicas":3}`}, {sync, `{"replicas":3}`}, {people, `{"replicas":4}`}},
			[]string{`replicas=4 apply@3`},
			[]string{`replicas: autoscaler/by-autoscaler@1 set 3`, `replicas: sync/by-sync@2 set 3`}},
		"taken and given": {"who lost a field doesn't get it back by saying nothing", "",
			[]step{{scaler, `{"replicas":3}`}, {people, `{"replicas":4}`}, {scaler, `{}`}}, []string{`replicas=4 apply@2`}, nil},
		"a list is whole": {"one entry changes the list", "",
			[]step{{people, `{"ports":["80","81"]}`}, {sync, `{"ports":["80"]}`}}, []string{`ports=["80"] sync@2`},
			[]string{`ports: apply/by-apply@1 set ["80","81"]`}},
		"maps are shared": {"each key has its owner", "",
			[]step{{people, `{"env":{"A":"1"}}`}, {sync, `{"env":{"B":"2"}}`}, {people, `{"env":{"C":"3"}}`}},
			[]string{`env.B="2" sync@2`, `env.C="3" apply@3`}, nil},
		"blocks nest": {"a block is as deep as it is", "",
			[]step{{people, `{"resources":{"limits":{"cpu":"1"}}}`}, {sync, `{"resources":{"limits":{"memory":"1G"}}}`},
				{people, `{}`}}, []string{`resources.limits.memory="1G" sync@2`}, nil},
		"empty block": {"an empty block is a leaf", "", []step{{people, `{"logs":{}}`}},
			[]string{`logs={} apply@1`}, nil},
		"block filled": {"it ends as one when others fill it", "",
			[]step{{people, `{"env":{}}`}, {sync, `{"env":{"A":"1"}}`}, {people, `{"env":{}}`}},
			[]string{`env.A="1" sync@2`}, nil},
		"value for block": {"nothing of the block is left", "", []step{{sync, `{"x":{"a":1,"b":2}}`}, {people, `{"x":3}`}},
			[]string{`x=3 apply@2`}, []string{`x.a: sync/by-sync@1 set 1`, `x.b: sync/by-sync@1 set 2`}},
		"block for value": {"nor of the value", "", []step{{sync, `{"x":3}`}, {people, `{"x":{"a":{"b":1}}}`}},
			[]string{`x.a.b=1 apply@2`}, []string{`x: sync/by-sync@1 set 3`}},
		"null is absent": {"it sets nothing", "",
			[]step{{scaler, `{"replicas":3}`}, {people, `{"image":"a","replicas":null,"logs":{"max_size":null}}`}},
			[]string{`image="a" apply@2`, `replicas=3 autoscaler@1`}, nil},
		"stored before": {"people set it, when it was last written", `{"image":"a","replicas":2}`,
			[]step{{people, `{"image":"b","replicas":2}`}}, []string{`image="b" apply@1`, `replicas=2 apply@-60`}, nil},
		"kept from others": {"and not the first other", `{"image":"a","replicas":2}`, []step{{scaler, `{"replicas":3}`}},
			[]string{`image="a" apply@-60`, `replicas=3 autoscaler@1`}, []string{`replicas: apply/@-60 set 2`}},
		"dotted keys": {"a path is unambiguous", "", []step{{people, `{"labels":{"a.b/c":"1","a\"b":"2"}}`}},
			[]string{`labels["a\"b"]="2" apply@1`, `labels["a.b/c"]="1" apply@1`}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &object{t: t, spec: tc.before, now: noon}
			var conflicts []string
			for _, s := range tc.steps {
				out := o.outcome(s.manager, s.spec)
				conflicts = nil
				for _, c := range out.Conflicts {
					conflicts = append(conflicts, fmt.Sprintf("%s: %s/%s@%d set %s", c.Path, c.Manager, c.Actor,
						int(c.At.Sub(noon).Minutes()), c.Value))
				}
				o.store(out)
			}
			if diff := cmp.Diff(tc.want, o.owners()); diff != "" {
				t.Errorf("%s: owners: %s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.conflicts, conflicts); diff != "" {
				t.Errorf("%s: conflicts of the last step: %s", tc.reason, diff)
			}
		})
	}
}

// TestAboutLeavesTheRest: a change of one field claims no other.
func TestAboutLeavesTheRest(t *testing.T) {
	o := &object{t: t, now: noon}
	o.store(o.outcome("sync", `{"image":"a","replicas":1}`))
	out, err := Apply(o.stored(), tree(t, `{"image":"a","replicas":2}`), Change{Manager: api.ManagerApply, At: o.now,
		About: func(field string) bool { return field == "replicas" }})
	if err != nil || len(out.Conflicts) != 1 {
		t.Fatalf("%+v, %v; want one conflict", out.Conflicts, err)
	}
	o.store(out)
	if diff := cmp.Diff([]string{`image="a" sync@1`, `replicas=2 apply@1`}, o.owners()); diff != "" {
		t.Error(diff)
	}
}

// TestRecordIsSmall: however many fields an object has and however often they change, the record stays a few lines.
func TestRecordIsSmall(t *testing.T) {
	value := func(i, round int) string { return fmt.Sprintf(`"KEY_%03d":"%d"`, i, round) }
	o := &object{t: t, now: noon}
	for round := range 40 {
		var env []string
		for i := range 200 {
			changes := 0
			if i%40 < round {
				changes = i%40 + 1
			}
			env = append(env, value(i, changes))
		}
		o.store(o.outcome(api.ManagerApply, `{"image":"a","env":{`+strings.Join(env, ",")+`}}`))
		if round == 0 && len(o.fields) > 120 {
			t.Errorf("applied once, the record has %d bytes: %s", len(o.fields), o.fields)
		}
		if len(o.fields) > 2500 {
			t.Fatalf("round %d: the record has %d bytes", round, len(o.fields))
		}
	}
	lines, err := Blame(o.stored())
	if err != nil || len(lines) != 201 {
		t.Fatalf("%d owners, %v; want one of each leaf", len(lines), err)
	}
	if first, last := lines[0], lines[38]; !first.OrBefore || last.OrBefore || last.At.Sub(noon) != 40*time.Minute {
		t.Errorf("an old change is %+v, a late one %+v; want the first remembered with others, the last exactly", first, last)
	}
}

func TestActorsOfWritesRememberedTogether(t *testing.T) {
	for actors, want := range map[string]string{"aaaaaaaaaaaa": "a", "abaaaaaaaaaa": ""} {
		fields := json.RawMessage(nil)
		spec := Tree{}
		for i, actor := range actors {
			next := clone(spec)
			next[fmt.Sprintf("f%02d", i)] = "x"
			out, err := Apply(Stored{Spec: spec, Fields: fields}, next,
				Change{Manager: "m", Actor: string(actor), At: noon.Add(time.Duration(i) * time.Minute)})
			if err != nil {
				t.Fatal(err)
			}
			spec, fields = out.Spec, out.Fields
		}
		lines, err := Blame(Stored{Spec: spec, Fields: fields})
		if err != nil || lines[0].Actor != want || !lines[0].OrBefore {
			t.Errorf("actors %s: the oldest is %+v, %v; want actor %q", actors, lines[0], err, want)
		}
	}
}

func TestBrokenRecord(t *testing.T) {
	for _, fields := range []string{`{`, `{}`, `[{"manager":"apply","fields":{"x:y":1,"k:{":{}}}]`} {
		stored := Stored{Spec: tree(t, `{"a":1}`), Fields: json.RawMessage(fields)}
		if _, err := Blame(stored); err == nil {
			t.Errorf("%s was read", fields)
		}
		if _, err := Apply(stored, Tree{}, Change{Manager: "apply"}); err == nil {
			t.Errorf("%s was applied to", fields)
		}
	}
	if _, err := Parse(json.RawMessage(`[1]`)); err == nil {
		t.Error("a list passed for a spec")
	}
}
