// Package job holds the kinds of jobs and cron jobs. Their step reads an object with its runs, tasks, releases and
// image, lets internal/core/timetable decide, and returns the whole decision as one commit.
//
// A release is created when a run needs one and the object differs from the newest release. The image is requested as
// soon as the object is stored, so that it is there when a run is due. internal/control/verbs creates the runs that
// people request; from then on only this package writes them. It never places a task and never touches a container.
//
// The files: declared.go parses manifests once, observe.go reads the current state, target.go chooses the release that
// a run executes, act.go and records.go turn a decision into a step, status.go and conditions.go report.
package job
