// Package volumes finds the programs that would write to one volume at the same time: a container that Tend is about to
// start, and a running container that another program started, such as one of a Compose project.
//
// Two databases on one volume destroy it, so the start is refused. Sharing is safe if one of them mounts the volume
// read-only, or if a label declares the volume for several writers (api.SharedVolumes):
//
//	writer, found := volumes.SecondWriter(volumes.Written(spec), spec.Labels, running)
//
// The package has no access to an engine. The caller lists the running containers, except those of its own cluster,
// and resolves links, so that every volume and folder has one name. A folder inside another one counts as a different
// folder.
//
// Pods of Tend may share a volume. Several warns of replicas of one object that do and Beside of several objects, since
// that is likely a mistake. Moved warns of a renamed volume, whose successor begins empty. Left finds the volumes that
// the ordinals of a statefulset have left.
package volumes
