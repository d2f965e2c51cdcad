package api

import (
	"testing"
	"time"
)

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Second: "1m30s",
		10 * time.Second: "10s", 720 * time.Hour: "720h", time.Hour + time.Second: "1h0m1s", 0: "0s"} {
		if got := ShortDuration(d); got != want {
			t.Errorf("%s reads %s, want %s", d, got, want)
		}
	}
}
