// Package job runs the controllers of jobs and cron jobs: it reads an object with its runs, tasks, releases and image, has
// internal/core/timetable decide, and carries the whole decision out in one commit.
//
// A release is minted when a run needs one and what the object asks for differs from the newest; the image is asked for as
// soon as the object is stored, so that a due run finds it there. Runs that people ask for are created by internal/intent;
// from then on this package alone writes them. It never places a task and never touches a container.
//
// The files: declared.go reads manifests once, observe.go and absence.go what is there, target.go which release a run
// executes, act.go and records.go the commit, status.go and conditions.go what is told of it.
package job
