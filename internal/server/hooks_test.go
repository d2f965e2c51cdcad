package server

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestLogsOfAnObjectLeaveItsCommandsOut: they are read by the name of their pod, or of their run.
func TestLogsOfAnObjectLeaveItsCommandsOut(t *testing.T) {
	slot := &api.Task{Slot: "1a2b3c4d", CreatedAt: time.Unix(1, 0)}
	command := &api.Task{Slot: "v1-command", Run: "v1-command", Role: api.RoleCommand, CreatedAt: time.Unix(1, 0)}
	cases := map[string]struct {
		wanted        logsOf
		slot, command bool
	}{
		"object": {logsOf{}, true, false},
		"pod":    {logsOf{slot: "v1-command"}, false, true},
		"run":    {logsOf{run: "v1-command"}, false, true},
	}
	for name, tc := range cases {
		if tc.wanted.wants(slot) != tc.slot || tc.wanted.wants(command) != tc.command {
			t.Errorf("%s: wants the slot %t, the command %t", name, tc.wanted.wants(slot), tc.wanted.wants(command))
		}
	}
}
