package outcome

import (
	"cmp"

	"tend.dev/tend/api"
)

// Observed is an object that is awaited, with its pods.
type Observed struct {
	// Found is false if there is no such object.
	Found  bool
	Object api.Object
	Pods   []api.Pod
	// Releases lists the kept releases of the object by number.
	Releases []api.Release
}

// judged is one outcome while all are judged.
type judged struct {
	api.Awaited
	api.Outcome
	// lacks: it is pending because a reference points at nothing.
	lacks bool
	// needs are the objects that its release waits for before it begins.
	needs []api.Ref
	// idle: it is an ingress to a workload that is scaled to 0; service is the name of the workload it leads to.
	idle    bool
	service string
	// stopped: a person stopped all of its pods, and only `tend start` brings them back.
	stopped bool
	// follows names the command that runs after the complete rollout; empty without one.
	follows string
	// turnsBack reports whether there is a good release to return to.
	turnsBack bool
	// rollout is the newest rollout; nil if there is none.
	rollout *api.RolloutStatus
}

// Judge returns an outcome for each write, in their order. They are judged together: one that waits for another comes
// to nothing if that one does. It returns an error if a status can't be read.
func Judge(awaited []api.Awaited, observe func(api.Ref) Observed) ([]api.Outcome, error) {
	all := make([]judged, len(awaited))
	for i, a := range awaited {
		var err error
		if all[i], err = judgeOne(a, observe(a.Ref)); err != nil {
			return nil, err
		}
	}
	giveUp(all)
	out := make([]api.Outcome, len(all))
	for i := range all {
		all[i].explain()
		out[i] = all[i].Outcome
	}
	return out, nil
}

func judgeOne(a api.Awaited, o Observed) (judged, error) {
	switch {
	case !o.Found && a.Gone:
		return judged{Awaited: a, Outcome: api.Outcome{State: api.OutcomeConverged, Reason: "Gone", Message: "gone"}},
			nil
	case !o.Found:
		return judged{Awaited: a, Outcome: api.Outcome{State: api.OutcomeFailed, Reason: api.ReasonDeleted,
			Message: "another command deleted it"}}, nil
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](o.Object)
	if err != nil {
		return judged{}, err
	}
	j := judge(a, o.Object, status)
	j.Pods = o.Pods
	j.judgeRecovering(status)
	j.judgeReplaced(o, status)
	j.awaitSettled()
	if j.Reason != api.ReasonNoReadyPods {
		return j, nil
	}
	served, err := api.DecodeStatus[api.IngressStatus](o.Object)
	j.idle, j.service = served.Pods == 0, cmp.Or(served.Service, a.Name)
	return j, err
}
