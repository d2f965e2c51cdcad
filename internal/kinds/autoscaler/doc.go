// Package autoscaler is the kind of deployments with an autoscale block. Once per interval its steps ask for the load
// of the pods and internal/core/autoscale for the number of replicas, and scale with the same verb as people do, as the
// manager api.ManagerAutoscaler. Both are calls.
//
// It never touches tasks: the deployment's controller carries out a changed count. Only the autoscaler writes the
// status under /autoscale/, which holds the cooldowns, so they survive a restart. A step is recorded there before it is
// taken, so a crash in between costs a cooldown and never causes a second step. If the step is refused, the record is
// removed.
package autoscaler
