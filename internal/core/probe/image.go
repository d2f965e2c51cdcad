package probe

import (
	"time"

	"tend.dev/tend/api"
)

// The engines' defaults of an image's health check.
const (
	imageInterval = 30 * time.Second
	imageTimeout  = 30 * time.Second
)

// The bounds of an image's times, which nobody checks when it is made: those of a probe in a manifest. The timeout's is
// stricter, since an attempt holds one of the node's places for commands as long as it runs.
const (
	minPeriod  = 100 * time.Millisecond
	minTimeout = time.Millisecond
	maxTimeout = 30 * time.Second
	maxWait    = 24 * time.Hour
	maxFails   = 1000
)

// Image is the health check of a container's image.
type Image struct {
	Command                        []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

// WithImage returns the probes of a container: the declared ones, and the health check of its image as the readiness
// probe if they have none. An empty block declares that nothing is probed. derived reports whether the image's check is
// one of them; Image.Grace is then the grace time of the Machine.
func WithImage(declared *api.Probes, image *Image) (probes api.Probes, derived bool) {
	if declared != nil {
		probes = *declared
	}
	if image == nil || declared.None() || probes.Readiness != nil {
		return probes, false
	}
	r := &api.Probe{Exec: &api.ExecProbe{Command: image.Command}, FailureThreshold: min(max(image.Retries, 0), maxFails)}
	r.Period = within(image.Interval, imageInterval, minPeriod, maxWait)
	r.Timeout = within(image.Timeout, imageTimeout, minTimeout, maxTimeout)
	probes.Readiness = r
	return probes, true
}

// Grace returns how long failures of the check don't count.
func (i Image) Grace() time.Duration { return min(max(i.StartPeriod, 0), maxWait) }

// within returns a time of an image between two bounds, or the default where it has none.
func within(d, otherwise, least, most time.Duration) api.Duration {
	if d <= 0 {
		d = otherwise
	}
	return api.Duration(min(max(d, least), most).String())
}
