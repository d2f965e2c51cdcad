// Package volumes finds the programs that would write to one volume at the same time: a container that Tend is about to
// start, and a running container that another program started, such as one of a Compose project.
//
// Two databases on one volume destroy it, so the start is refused. A volume that either of them mounts read-only is
// shared safely, and so is one that a label names as made for several writers (api.SharedVolumes):
//
//	writer, found := volumes.SecondWriter(volumes.Written(spec), spec.Labels, running)
//
// It knows no engine: the caller lists the running containers, without those of its own cluster, and gives every volume
// and folder one name, whichever link leads to it. A folder inside of another one is a different folder.
//
// Pods of one object may share a volume. Several warns where that is likely a mistake.
package volumes
