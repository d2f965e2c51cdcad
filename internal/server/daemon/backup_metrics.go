package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
)

// backupMetrics are about scheduled backups.
type backupMetrics struct {
	outcomes *prometheus.CounterVec
	good     prometheus.Gauge
	size     prometheus.Gauge
	took     prometheus.Gauge
}

// newBackupMetrics registers the metrics of a server with scheduled backups. Other servers have none, so that an alert
// about the age of the last backup is silent there.
func newBackupMetrics(registry prometheus.Registerer) *backupMetrics {
	m := &backupMetrics{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tend_backups_total",
			Help: "Scheduled backups, by outcome: succeeded, failed, or incomplete (stored without all files)."}, []string{"outcome"}),
		good: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tend_backup_last_success_timestamp_seconds",
			Help: "When the last scheduled backup that succeeded was taken; 0 if none was."}),
		size: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tend_backup_last_size_bytes",
			Help: "The size of the last scheduled backup that succeeded."}),
		took: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tend_backup_last_duration_seconds",
			Help: "The time that the last scheduled backup took."}),
	}
	m.outcomes.WithLabelValues("succeeded")
	m.outcomes.WithLabelValues("failed")
	m.outcomes.WithLabelValues("incomplete")
	registry.MustRegister(m.outcomes, m.good, m.size, m.took)
	return m
}

// count counts a backup.
func (m *backupMetrics) count(last api.BackupRecord) {
	outcome := "succeeded"
	switch {
	case last.Missing > 0:
		outcome = "incomplete"
	case last.Error != "":
		outcome = "failed"
	}
	m.outcomes.WithLabelValues(outcome).Inc()
	m.show(last)
}

// show sets the metrics to the last backup, also one of an earlier server.
func (m *backupMetrics) show(last api.BackupRecord) {
	m.took.Set(last.Took)
	m.size.Set(float64(last.Size))
	if !last.Succeeded.IsZero() {
		m.good.Set(float64(last.Succeeded.Unix()))
	}
}
