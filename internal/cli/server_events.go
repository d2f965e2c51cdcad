package cli

import (
	"github.com/spf13/pflag"

	"tend.dev/tend/internal/store/eventlog"
)

// addLogs adds the flags of the logs of events and of calls.
func (f *serverFlags) addLogs(flags *pflag.FlagSet) {
	for _, log := range []struct {
		name, what string
		keep       *eventlog.Retention
	}{{"events", "events", &f.options.Events}, {"audit", "audited calls", &f.options.AuditLog}} {
		fallback := eventlog.DefaultRetention
		flags.IntVar(&log.keep.Count, log.name+"-keep", fallback.Count, "how `MANY` commits with "+log.what+" are kept")
		flags.DurationVar(&log.keep.Age, log.name+"-age", fallback.Age, "how long "+log.what+" are kept")
		flags.Int64Var(&log.keep.Bytes, log.name+"-bytes", fallback.Bytes, "how many `BYTES` of "+log.what+" are kept")
	}
}
