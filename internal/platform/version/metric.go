package version

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric returns tend_build_info, which is always 1; its labels are the running version and commit.
func Metric(version, commit string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tend_build_info", Help: "1; the labels say which Tend this is.",
		ConstLabels: prometheus.Labels{"version": version, "revision": commit, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}
