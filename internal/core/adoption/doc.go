// Package adoption matches containers to tasks after an older store was restored.
//
// The store then has tasks whose containers are gone, and there are running containers whose tasks the store doesn't
// know. If such a container runs the release of such a task, it takes the task's place, so that nothing is started
// twice. The package does not decide about the other containers; a person does.
//
//	adopted, left := adoption.Match(vacant, orphans)
package adoption
