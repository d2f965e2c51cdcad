// Package once judges a task that runs to its end once: a command of a release, or an attempt of a job. It decides
// whether the task has ended and how, whether it must be stopped, and when the answer changes by itself.
//
// What the container did counts. An exit before the stop was requested is the outcome, whether the agent reported it
// before or after the request: a later stop doesn't undo a success. A container that was still running at the request
// was interrupted, even if it answers the signal with exit code 0.
//
// The caller decides what follows, such as a retry. The package starts nothing and keeps nothing.
package once
