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

// Image is the health check of a container's image.
type Image struct {
	Command                        []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

// WithImage returns the probes of a container: the declared ones, and the health check of its image as the readiness probe
// if they have none. An empty block declares that nothing is probed. derived reports whether the image's check is one of
// them; Image.StartPeriod is then the grace time of the Machine.
func WithImage(declared *api.Probes, image *Image) (probes api.Probes, derived bool) {
	if declared != nil {
		probes = *declared
	}
	if image == nil || declared.None() || probes.Readiness != nil {
		return probes, false
	}
	r := &api.Probe{Exec: &api.ExecProbe{Command: image.Command}, FailureThreshold: image.Retries}
	r.Period, r.Timeout = orDefault(image.Interval, imageInterval), orDefault(image.Timeout, imageTimeout)
	probes.Readiness = r
	return probes, true
}

func orDefault(d, otherwise time.Duration) api.Duration {
	if d <= 0 {
		d = otherwise
	}
	return api.Duration(d.String())
}
