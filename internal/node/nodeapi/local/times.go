package local

import (
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
)

// plausible returns a report with times that others can count from, and with counts that can be.
func plausible(report node.Report) node.Report {
	return boundary.Counts(boundary.Times(report, time.Now()))
}
