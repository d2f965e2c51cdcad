package local

import (
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
)

// timely returns a report with times that others can count from.
func timely(report node.Report) node.Report { return boundary.Times(report, time.Now()) }
