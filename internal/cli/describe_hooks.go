package cli

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// maxDeliveries bounds the webhook calls that describe shows; -o json has them all.
const maxDeliveries = 10

func deliveryListing(deliveries []api.Delivery, now time.Time) listing {
	l := listing{
		header: []string{"WEBHOOK", "STATE", "ATTEMPTS", "ANSWER", "EVENT", "AGE"}, empty: "no webhook calls",
		narrow: narrowing{drop: []string{"ATTEMPTS", "AGE", "EVENT"}, cut: []string{"ANSWER"}},
	}
	for _, d := range deliveries[:min(len(deliveries), maxDeliveries)] {
		answer := "-"
		switch {
		case d.Error != "":
			answer = d.Error
		case d.StatusCode != 0:
			answer = fmt.Sprint(d.StatusCode)
		}
		l.names = append(l.names, d.ID)
		l.rows = append(l.rows, []string{d.Hook, string(d.State), fmt.Sprint(d.Attempts), answer, deliveryEvent(d),
			age(d.CreatedAt, now)})
	}
	return l
}

func deliveryEvent(d api.Delivery) string {
	if pod := d.Tokens["pod"]; pod != "" {
		return fmt.Sprintf("%s of %s, %s", d.Tokens["probe"], pod, d.Tokens["transition"])
	}
	return d.Tokens["release_id"] + " " + d.Tokens["status"]
}

// commandsOf describes how the commands of a release ended: "pre succeeded, command failed (exit 3)".
func commandsOf(r api.ReleaseInfo) string {
	var out []string
	for _, run := range r.Runs {
		text := strings.TrimPrefix(run.ID, r.ID+"-") + " " + string(run.State)
		switch {
		case run.State == api.RunFailed && run.Reason != "Exited" && run.Reason != "":
			text += " (" + run.Reason + ")"
		case run.State == api.RunFailed && run.ExitCode != nil:
			text += fmt.Sprintf(" (exit %d)", *run.ExitCode)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
