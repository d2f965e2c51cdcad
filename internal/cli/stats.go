package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/client"
)

func (a *app) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stats [[KIND] SCOPE/NAME]",
		Short: "show what pods use: CPU (100 % is one core), memory, processes",
		Args:  cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			wanted := address{}
			if len(args) > 0 {
				var err error
				if wanted, _, err = parseAddress(args); err != nil {
					return err
				}
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			stats, err := c.Stats(cmd.Context(), client.PodFilter{Scope: wanted.scope})
			if err != nil {
				return err
			}
			l := listing{value: stats, header: []string{"POD", "CPU%", "MEMORY", "LIMIT", "PROCESSES"}, empty: "no running pods"}
			for _, s := range stats.Items {
				if len(args) > 0 && s.Pod != wanted.pod && !wanted.matches(s.Kind, s.Scope, s.Resource) {
					continue
				}
				l.names = append(l.names, s.Pod)
				if s.Error != "" {
					l.rows = append(l.rows, []string{s.Pod, "-", "-", "-", s.Error})
					continue
				}
				l.rows = append(l.rows, []string{s.Pod, fmt.Sprintf("%.1f", s.CPUPercent), bytesText(s.MemoryBytes), bytesText(s.MemoryLimitBytes), fmt.Sprint(s.PIDs)})
			}
			return l.write(a.streams, a.output)
		},
	}
}

func bytesText(n int64) string {
	switch {
	case n <= 0:
		return "-"
	case n < 1<<20:
		return fmt.Sprintf("%.0fKi", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1fMi", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1fGi", float64(n)/(1<<30))
}
