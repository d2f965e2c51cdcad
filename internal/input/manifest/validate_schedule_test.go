package manifest

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

func TestCronJobsAreRefusedForTheirSchedule(t *testing.T) {
	for name, c := range map[string]struct{ schedule, zone, field, detail string }{
		"a good one":   {"*/5 * * * *", "Europe/Berlin", "", ""},
		"a bad minute": {"61 * * * *", "", "schedule", `minute "61" is outside 0 to 59`},
		"no such day":  {"0 0 30 2 *", "", "schedule", `"0 0 30 2 *" never comes due: there is no such day`},
		"an unknown zone": {"@daily", "Europe/Atlantis", "timezone",
			`"Europe/Atlantis" is not a time zone; use an IANA name such as Europe/Berlin or UTC`},
		"none": {"", "", "schedule", "is required"},
	} {
		spec := api.CronJobSpec{Schedule: c.schedule, Timezone: c.zone}
		spec.Image = "web:1"
		raw, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		found := Validate(api.Object{Kind: api.KindCronJob, Scope: "prod", Name: "nightly", Spec: raw})
		if c.field == "" {
			if len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Field != c.field || found[0].Detail != c.detail {
			t.Errorf("%s: %v; want %s %s", name, found, c.field, c.detail)
		}
	}
}
