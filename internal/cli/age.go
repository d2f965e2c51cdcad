package cli

import (
	"cmp"
	"fmt"
	"time"
)

// age returns how long ago something was, as short as a table wants it.
func age(since, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	d := now.Sub(since)
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// dash returns the text, or a dash for an empty cell.
func dash(text string) string {
	return cmp.Or(text, "-")
}
