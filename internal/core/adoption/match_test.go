package adoption

import (
	"testing"

	"tend.dev/tend/api"
)

func TestMatch(t *testing.T) {
	web, db := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"},
		api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	task := func(ref api.Ref, id, slot string) Vacant {
		return Vacant{Fingerprint: "f1",
			Task: api.Task{ID: id, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Slot: slot, Release: "v1",
				Desired: api.DesiredRunning}}
	}
	container := func(ref api.Ref, id, slot string, change ...func(*Orphan)) Orphan {
		s := Orphan{ID: "c" + id, Name: ref.AppID() + "." + slot, Task: id, Owner: ref, Slot: slot, Release: "v1",
			Fingerprint: "f1", Running: true}
		for _, f := range change {
			f(&s)
		}
		return s
	}
	for name, tc := range map[string]struct {
		reason  string
		vacant  []Vacant
		orphans []Orphan
		want    map[string]string // the old task by the new one
	}{
		"a deployment": {"its slots are interchangeable", []Vacant{task(web, "t1", "aa")},
			[]Orphan{container(web, "t2", "bb")}, map[string]string{"t2": "t1"}},
		"an ordinal": {"the same one", []Vacant{task(db, "t1", "0")}, []Orphan{container(db, "t2", "0")},
			map[string]string{"t2": "t1"}},
		"another ordinal": {"its volumes are others", []Vacant{task(db, "t1", "0")}, []Orphan{container(db, "t2", "1")}, nil},
		"another release": {"the store doesn't know what it runs", []Vacant{task(web, "t1", "aa")},
			[]Orphan{container(web, "t2", "bb", func(s *Orphan) { s.Release = "v2" })}, nil},
		"another image": {"a release of the same number", []Vacant{task(web, "t1", "aa")},
			[]Orphan{container(web, "t2", "bb", func(s *Orphan) { s.Fingerprint = "f2" })}, nil},
		"another object": {"", []Vacant{task(db, "t1", "0")}, []Orphan{container(web, "t2", "0")}, nil},
		"ended": {"it fills no place", []Vacant{task(web, "t1", "aa")},
			[]Orphan{container(web, "t2", "bb", func(s *Orphan) { s.Running = false })}, nil},
		"an init": {"it prepares another", []Vacant{task(web, "t1", "aa")},
			[]Orphan{container(web, "t2", "bb", func(s *Orphan) { s.Auxiliary = true })}, nil},
		"more than there are places": {"one place, one container", []Vacant{task(web, "t1", "aa")},
			[]Orphan{container(web, "t2", "bb"), container(web, "t3", "cc")}, map[string]string{"t2": "t1"}},
	} {
		adopted, left := Match(tc.vacant, tc.orphans)
		if len(adopted) != len(tc.want) || len(left) != len(tc.orphans)-len(tc.want) {
			t.Errorf("%s: %s: %d adopted, %d left", name, tc.reason, len(adopted), len(left))
		}
		for _, a := range adopted {
			if tc.want[a.New.ID] != a.Old.ID || a.New.Release != "v1" || a.New.Owner() != a.Old.Owner() {
				t.Errorf("%s: %s: %+v", name, tc.reason, a)
			}
		}
	}
}

// TestAPlaceKeepsItsSuccessor: a task that is to be replaced is matched last, and its successor replaces the container
// that took its place.
func TestAPlaceKeepsItsSuccessor(t *testing.T) {
	of := func(id, slot, replaces string) api.Task {
		return api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: slot, Release: "v1",
			Desired: api.DesiredRunning, Replaces: replaces}
	}
	orphan := func(id, slot string) Orphan {
		return Orphan{ID: "c" + id, Name: "prod-web." + slot, Task: id, Owner: of("", "", "").Owner(), Slot: slot,
			Release: "v1", Fingerprint: "f", Running: true}
	}
	vacant := []Vacant{{Task: of("t1", "aa", ""), Fingerprint: "f", Succeeded: true},
		{Task: of("t2", "bb", "aa"), Fingerprint: "f"}}

	adopted, _ := Match(vacant, []Orphan{orphan("t9", "xx")})
	if len(adopted) != 1 || adopted[0].Old.ID != "t2" || adopted[0].New.Replaces != "aa" {
		t.Errorf("one container: %+v", adopted)
	}
	adopted, _ = Match(vacant, []Orphan{orphan("t8", "ww"), orphan("t9", "xx")})
	if len(adopted) != 2 || adopted[0].Old.ID != "t2" || adopted[1].Old.ID != "t1" || adopted[0].New.Replaces != "xx" {
		t.Errorf("two containers: %+v", adopted)
	}
	known := of("t3", "cc", "aa")
	if !Rename(&known, adopted) || known.Replaces != "xx" {
		t.Errorf("its successor of before replaces %s", known.Replaces)
	}
	if other := of("t4", "dd", "zz"); Rename(&other, adopted) {
		t.Errorf("another one replaces %s", other.Replaces)
	}
}

// TestAnEndedContainerKeepsNoPlace: a running container takes the place of a task whose own has ended, but only where
// no place is empty.
func TestAnEndedContainerKeepsNoPlace(t *testing.T) {
	place := func(id string, ended, succeeded bool) Vacant {
		return Vacant{Fingerprint: "f", Ended: ended, Succeeded: succeeded, Task: api.Task{
			ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: id, Release: "v1", Desired: api.DesiredRunning,
		}}
	}
	orphan := Orphan{ID: "c", Name: "prod-web.x", Task: "t9",
		Owner: api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}, Slot: "x",
		Release: "v1", Fingerprint: "f", Running: true}
	for name, tc := range map[string]struct {
		vacant []Vacant
		want   string
	}{
		"alone":                       {[]Vacant{place("t1", true, false)}, "t1"},
		"beside an empty one":         {[]Vacant{place("t1", true, false), place("t2", false, false)}, "t2"},
		"beside one that is replaced": {[]Vacant{place("t1", false, true), place("t2", true, false)}, "t2"},
	} {
		adopted, _ := Match(tc.vacant, []Orphan{orphan})
		if len(adopted) != 1 || adopted[0].Old.ID != tc.want {
			t.Errorf("%s: %+v, want %s", name, adopted, tc.want)
		}
	}
}
