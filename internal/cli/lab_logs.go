package cli

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// sayLastLog prints what is left of the output of a lab whose container is gone: the last lines that its status has.
func (a *app) sayLastLog(ctx context.Context, c *client.Client, wanted address) error {
	if wanted.pod != "" || wanted.kind != "" && wanted.kind != api.KindLab {
		return nil
	}
	ref, err := resolve(ctx, c, wanted)
	if err != nil || ref.Kind != api.KindLab {
		return nil //nolint:nilerr // the logs had an answer
	}
	object, err := c.Object(ctx, ref)
	if err != nil {
		return err
	}
	status, err := api.DecodeStatus[api.LabStatus](object)
	if err != nil || !status.Phase.Ended() {
		return err
	}
	said := fmt.Sprintf("%s has ended (%s), and its container is gone with its output", ref, status.Phase)
	if status.ExitCode != nil {
		said += fmt.Sprintf("; exit code %d", *status.ExitCode)
	}
	if len(status.LastLog) > 0 {
		said += "; its last lines were:"
	}
	fmt.Fprintln(a.err, said)
	for _, line := range status.LastLog {
		if err := a.sayLogLine(status.Pod, line); err != nil {
			return err
		}
	}
	return nil
}

// sayLogLine prints a line as `tend logs` does.
func (a *app) sayLogLine(pod, line string) error {
	if a.output == "json" {
		return compactJSON(a.out, api.LogLine{Pod: pod, Text: line})
	}
	if terminal(a.out) {
		line = printable(line, "")
	}
	_, err := fmt.Fprintln(a.out, "["+pod+"] "+line)
	return err
}
