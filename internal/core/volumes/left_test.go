package volumes

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
)

// TestLeft: only volumes of the object's own claims count, of ordinals that it no longer has.
func TestLeft(t *testing.T) {
	ref := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	homes := map[string]string{
		"tend-prod-db-data-0": "n1", "tend-prod-db-data-2": "n1", "tend-prod-db-data-10": "n2", // its own
		"tend-prod-db-old-2": "n1", "tend-prod-dbs-data-2": "n1", "tend-prod-db-data-x": "n1", "/srv/data": "n1", "2": "n1",
	}
	got := Left(homes, ref, []api.VolumeClaim{{Name: "data"}}, 1)
	want := []OfOrdinal{{"tend-prod-db-data-2", "n1", 2}, {"tend-prod-db-data-10", "n2", 10}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
