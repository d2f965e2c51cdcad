// Package adoption decides which containers belong to which tasks after an older store was restored.
//
// The store has tasks whose containers are gone, and containers run whose tasks the store doesn't know. Where such a
// container runs the release of such a task, it takes the task's place: nothing is started twice. It never decides what
// becomes of the other containers; an operator does.
//
//	adopted, left := adoption.Match(vacant, strangers)
package adoption
