package server

import (
	"fmt"
	"net/http"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// clusterLogs writes the output of the pods of an application in a Kubernetes cluster, ordered by time.
func (s *Server) clusterLogs(w http.ResponseWriter, r *http.Request, wanted logsOf) {
	err := wanted.checkThere()
	if err == nil && s.ClusterLogs == nil {
		err = &api.Problem{Status: http.StatusNotImplemented, Detail: "this server has no clusters", Next: "tend version"}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, end, err := s.openStream(r.Context(), "logs")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	asked := pull.Query{Pod: wanted.pod, Container: wanted.container, Tail: wanted.opts.Tail, Since: wanted.opts.Since,
		Previous: wanted.previous}
	if asked.Tail < 0 || asked.Tail > pull.MaxTail {
		asked.Tail = pull.MaxTail
	}
	answer, err := s.ClusterLogs(ctx, callerOf(ctx).grant.Name, wanted.owner, asked)
	switch {
	case endOf(ctx) != nil:
		err = endOf(ctx)
	case err == nil && answer.Refusal != nil:
		err = wanted.refused(*answer.Refusal)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	_ = sendAnswer(newLines(w, r), answer) // an error only means that the client has left
}

// sendAnswer writes the answer of a cluster's operator: the lines of all containers by time, then notes about missing
// ones.
func sendAnswer(out *lines, answer pull.Answer) error {
	var all []api.LogLine
	for _, output := range answer.Outputs {
		name := output.Pod + "/" + output.Container
		for _, line := range output.Lines {
			all = append(all, api.LogLine{Pod: name, At: line.At.UTC(), Text: line.Text})
		}
	}
	slices.SortStableFunc(all, func(a, b api.LogLine) int { return a.At.Compare(b.At) })
	for _, output := range answer.Outputs {
		if output.Error != "" {
			all = append(all, api.LogLine{Pod: output.Pod + "/" + output.Container, Error: problemOf(&api.Problem{
				Status: http.StatusServiceUnavailable, Detail: output.Error})})
		}
	}
	for _, note := range answer.Notes {
		all = append(all, api.LogLine{Note: note})
	}
	for _, line := range all {
		if err := out.send("", line); err != nil {
			return err
		}
	}
	return out.begin()
}

// checkThere refuses options that a Kubernetes cluster doesn't support.
func (l logsOf) checkThere() error {
	if l.opts.Follow {
		pod, container := "POD", "CONTAINER"
		if l.pod != "" {
			pod = l.pod
		}
		if l.container != "" {
			container = l.container
		}
		return &api.Problem{Status: http.StatusBadRequest,
			Detail: fmt.Sprintf("the output of %s is in a Kubernetes cluster, and can't be followed from here", l.owner),
			Next: fmt.Sprintf("leave out --follow, or follow it there: kubectl --namespace %s logs --follow %s --container %s",
				l.owner.Scope, pod, container)}
	}
	if l.run != "" || l.init != "" {
		return &api.Problem{Status: http.StatusBadRequest,
			Detail: fmt.Sprintf("%s has no runs, and its init containers are containers like the others", l.owner),
			Next:   "leave out --run and --init; --container NAME shows a container, also an init container"}
	}
	return nil
}

// checkHere refuses options that only a Kubernetes cluster supports.
func (l logsOf) checkHere() error {
	if l.pod == "" && l.container == "" {
		return nil
	}
	return &api.Problem{Status: http.StatusBadRequest,
		Detail: fmt.Sprintf("--pod and --container choose among the pods of an application in Kubernetes; %s has none",
			l.owner),
		Next: "`tend logs POD` shows the output of one pod"}
}

// refused returns the problem for an operator's refusal to send output.
func (l logsOf) refused(by pull.Refusal) error {
	problem := &api.Problem{Status: http.StatusServiceUnavailable, Detail: by.Message,
		Next: "tend describe " + string(l.owner.Kind) + " " + l.owner.Scope + "/" + l.owner.Name}
	switch by.Reason {
	case pull.RefusedNotEnabled:
		problem.Status = http.StatusConflict
		problem.Next = "let the operator read logs: helm upgrade with --set logs.enabled=true, " +
			"or kubectl apply --server-side -k deploy/operator-logs"
	case pull.RefusedNotFound:
		problem.Status = http.StatusNotFound
	case pull.RefusedQuery, pull.RefusedFailed:
	}
	return problem
}
