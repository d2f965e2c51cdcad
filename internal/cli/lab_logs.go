package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// sayLastLog prints what is left of the output of a lab whose container is gone: the last lines that its status has. It
// reports whether the object is such a lab.
func (a *app) sayLastLog(object api.Object) (bool, error) {
	ref := object.Ref()
	if ref.Kind != api.KindLab {
		return false, nil
	}
	status, err := api.DecodeStatus[api.LabStatus](object)
	if err != nil || !status.Phase.Ended() {
		return false, err
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
			return true, err
		}
	}
	return true, nil
}

// sayLogLine prints a line as `tend logs` does.
func (a *app) sayLogLine(pod, line string) error {
	if a.structured() {
		return a.printEach(api.LogLine{Pod: pod, Text: line})
	}
	if terminal(a.out) {
		line = printable(line, "")
	}
	_, err := fmt.Fprintln(a.out, "["+pod+"] "+line)
	return err
}
