package window

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/operator/identity"
)

func declare(text string) map[string]string {
	return map[string]string{identity.AnnotationMaintenanceWindow: text}
}

// TestOpens: all times are written with Berlin's offset, as people there read the clock.
func TestOpens(t *testing.T) {
	const open = ""
	tests := map[string]struct {
		reason, window, now, opens string
	}{
		"before":             {"Wednesday waits for Sunday", `{schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`, "2026-11-25T12:00:00+01:00", "2026-11-29T02:00:00+01:00"},
		"first instant":      {"the start belongs to the window", `{schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`, "2026-11-29T02:00:00+01:00", open},
		"last second":        {"it is open until its end", `{schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`, "2026-11-29T03:59:59+01:00", open},
		"end":                {"the end doesn't belong to the window", `{schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`, "2026-11-29T04:00:00+01:00", "2026-12-06T02:00:00+01:00"},
		"over midnight":      {"a window may end on the next day", `{schedule: "0 23 * * 6", duration: 3h, timeZone: Europe/Berlin}`, "2026-11-29T01:00:00+01:00", open},
		"UTC":                {"no zone is UTC", `{schedule: "0 2 * * *", duration: 1h}`, "2026-11-25T03:30:00+01:00", open},
		"JSON":               {"JSON is YAML", `{"schedule":"0 2 * * *","duration":"1h","timeZone":"UTC"}`, "2026-11-25T04:00:00+01:00", "2026-11-26T03:00:00+01:00"},
		"summer time begins": {"02:30 does not exist on this day: the window opens as the clock jumps to 03:00", `{schedule: "30 2 * * *", duration: 1h, timeZone: Europe/Berlin}`, "2026-03-29T01:59:59+01:00", "2026-03-29T03:00:00+02:00"},
		"across the jump":    {"two hours are two hours: from 01:00 to 04:00", `{schedule: "0 1 * * *", duration: 2h, timeZone: Europe/Berlin}`, "2026-03-29T03:59:59+02:00", open},
		"after the jump":     {"two hours have passed since 01:00", `{schedule: "0 1 * * *", duration: 2h, timeZone: Europe/Berlin}`, "2026-03-29T04:00:00+02:00", "2026-03-30T01:00:00+02:00"},
		"winter time begins": {"02:00 comes twice, and the first counts", `{schedule: "0 2 * * *", duration: 1h, timeZone: Europe/Berlin}`, "2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00"},
		"second 02:00":       {"the hour is over when the clock shows 02:00 again", `{schedule: "0 2 * * *", duration: 1h, timeZone: Europe/Berlin}`, "2026-10-25T02:00:00+01:00", "2026-10-26T02:00:00+01:00"},
		"overlap":            {"a window that opens again before it closes is always open", `{schedule: "0 * * * *", duration: 2h}`, "2026-11-25T12:59:59+01:00", open},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := Of(declare(test.window))
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.RFC3339, test.now)
			if err != nil {
				t.Fatal(err)
			}
			var want time.Time
			if test.opens != open {
				if want, err = time.Parse(time.RFC3339, test.opens); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.Opens(now); !got.Equal(want) {
				t.Errorf("%s: at %s it opens at %s, want %s", test.reason, now, got, want)
			}
		})
	}
}

func TestNoWindowIsAlwaysOpen(t *testing.T) {
	w, err := Of(map[string]string{"other": "x"})
	if opens := w.Opens(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)); err != nil || !opens.IsZero() {
		t.Errorf("opens at %s, error %v", opens, err)
	}
}

func TestBadWindows(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":          {"", "schedule"},
		"no object":      {"Sun 02:00-04:00", "want an object with schedule, duration and timeZone"},
		"not YAML":       {"{schedule: ", "want an object with schedule, duration and timeZone"},
		"unknown field":  {`{schedule: "0 2 * * *", duration: 1h, kind: deny}`, "want an object with schedule, duration and timeZone"},
		"four fields":    {`{schedule: "0 2 * *", duration: 1h}`, "5"},
		"no such day":    {`{schedule: "0 2 30 2 *", duration: 1h}`, "no such day"},
		"no such zone":   {`{schedule: "0 2 * * *", duration: 1h, timeZone: Europe/Atlantis}`, "Europe/Atlantis"},
		"local":          {`{schedule: "0 2 * * *", duration: 1h, timeZone: Local}`, "Local"},
		"no duration":    {`{schedule: "0 2 * * *"}`, "duration"},
		"no unit":        {`{schedule: "0 2 * * *", duration: "2"}`, "duration"},
		"backwards":      {`{schedule: "0 2 * * *", duration: -1h}`, "duration"},
		"too long":       {`{schedule: "0 2 * * *", duration: 200h}`, "duration"},
		"far too long":   {`{schedule: "0 2 * * *", duration: 99999999h}`, "duration"},
		"a list":         {`[1, 2]`, "want an object"},
		"not a duration": {`{schedule: "0 2 * * *", duration: two hours}`, "two hours"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Of(declare(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), identity.AnnotationMaintenanceWindow) {
				t.Errorf("%q: %v, want the annotation's name and %q", test.text, err, test.want)
			}
		})
	}
}
