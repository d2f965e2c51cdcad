// Package autoscaler looks at every deployment with an autoscale block each interval: it measures the pods, asks
// internal/core/autoscale how many there should be, and scales through the verb people use, as the manager
// api.ManagerAutoscaler.
//
// It never touches tasks: a changed count is the deployment's controller's to carry out. It alone writes the status
// under /autoscale/, which holds the cooldowns, so they survive a restart; a step is noted there before it is taken, so
// that a crash in between costs a cooldown and never a second step. The note of one that was refused is taken back.
package autoscaler
