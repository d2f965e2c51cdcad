// Package autoscaler reconciles every deployment with an autoscale block each interval: it measures the pods, asks
// internal/core/autoscale how many there should be, and scales by the same verb as people do, as the manager
// api.ManagerAutoscaler.
//
// It never touches tasks: the deployment's controller carries out a changed count. Only the autoscaler writes the
// status under /autoscale/, which holds the cooldowns, so they survive a restart. A step is noted there before it is
// taken, so a crash in between costs a cooldown and never causes a second step. The note of a refused step is taken
// back.
package autoscaler
