package change

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
)

func TestNode(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	up := api.NodeState{State: api.NodeUp, ChangedAt: now, Ready: true, Version: "1",
		Address: netip.MustParseAddr("192.0.2.1")}
	with := func(edit func(*api.NodeState)) *api.NodeState {
		next := up
		edit(&next)
		return &next
	}
	lost := with(func(s *api.NodeState) { s.State, s.ChangedAt = api.NodeLost, now.Add(time.Hour) })
	silent := with(func(s *api.NodeState) { s.State, s.ChangedAt = api.NodeSilent, now.Add(time.Hour) })
	back := with(func(s *api.NodeState) { s.ChangedAt = now.Add(time.Hour + time.Minute) })
	for name, test := range map[string]struct {
		old, next *api.NodeState
		want      []string
	}{
		"nothing":        {nil, nil, nil},
		"the same":       {&up, &up, nil},
		"a new one":      {nil, &up, []string{`joined up  [address="192.0.2.1" ready="true" version="1"]`}},
		"it is gone":     {&up, nil, []string{`removed up  []`}},
		"lost":           {&up, lost, []string{`lost lost it does not answer []`}},
		"silent":         {&up, silent, []string{`silent silent no server hears it: if that stays so, it is lost []`}},
		"then lost":      {silent, lost, []string{`lost lost it does not answer []`}},
		"heard again":    {silent, back, []string{`returned up it was silent for 1m0s []`}},
		"back":           {lost, back, []string{`returned up it was lost for 1m0s []`}},
		"its engine":     {&up, with(func(s *api.NodeState) { s.Ready, s.Reason = false, "EngineUnavailable" }), []string{`status_updated up  [ready="EngineUnavailable"]`}},
		"its version":    {&up, with(func(s *api.NodeState) { s.Version = "2" }), []string{`status_updated up  [version="2"]`}},
		"its address":    {&up, with(func(s *api.NodeState) { s.Address = netip.Addr{} }), []string{`status_updated up  [address=]`}},
		"the pause ends": {with(func(s *api.NodeState) { s.Losses, s.Until = 3, now }), &up, nil},
		"back once more": {lost, with(func(s *api.NodeState) {
			s.ChangedAt, s.Losses, s.Until = now.Add(2*time.Hour), 3, now.Add(3*time.Hour)
		}), []string{
			`returned up it was lost for 1h0m0s []`,
			`flapping up it was lost 3 times within an hour, and gets no pods until 2026-11-28T15:00:00Z []`,
		}},
	} {
		var got []string
		for _, e := range Node("n1", test.old, test.next) {
			if e.Data.Kind != api.KindNode || e.Data.Scope != api.Unscoped || e.Data.Name != "n1" {
				t.Errorf("%s: it is about %+v", name, e.Data)
			}
			var changes []string
			for _, c := range e.Data.Changes {
				changes = append(changes, c.Path+"="+string(c.New))
			}
			got = append(got, fmt.Sprintf("%s %s %s %s", e.Action, e.Data.Phase, e.Data.Message, changes))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
