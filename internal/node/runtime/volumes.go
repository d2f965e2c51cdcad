package runtime

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
)

// Neighbours is a runtime whose volumes other programs than Tend use too.
type Neighbours interface {
	// SecondWriter returns a running container, not of this cluster, that writes to a volume or a folder that the
	// containers of spec would write to.
	SecondWriter(ctx context.Context, spec api.DeploymentSpec) (volumes.Writer, bool, error)
	// SecondWriterOf is SecondWriter for a container that exists.
	SecondWriterOf(ctx context.Context, id string) (volumes.Writer, bool, error)
	// SecondWriters returns, by the id of each running container of this cluster, another running container, not of this
	// cluster, that writes to the same data. The engine may have started either one since its start was permitted.
	SecondWriters(ctx context.Context) (map[string]volumes.Writer, error)
}

// CheckWriters returns a RejectedError if a container of spec would be the second writer of a volume.
func CheckWriters(ctx context.Context, rt Runtime, spec api.DeploymentSpec) error {
	neighbours, ok := As[Neighbours](rt)
	if !ok {
		return nil
	}
	return refuse(neighbours.SecondWriter(ctx, spec))
}

// CheckWritersOf is CheckWriters for a container that exists.
func CheckWritersOf(ctx context.Context, rt Runtime, id string) error {
	neighbours, ok := As[Neighbours](rt)
	if !ok {
		return nil
	}
	return refuse(neighbours.SecondWriterOf(ctx, id))
}

func refuse(writer volumes.Writer, found bool, err error) error {
	if err != nil || !found {
		return err
	}
	return &RejectedError{Reason: api.ReasonVolumeInUse, Detail: writer.Detail(), Next: writer.Next()}
}

// CheckVolume returns a RejectedError if an existing volume has the labels of another claim than the wanted one: the
// claims of two scopes may have the same name (a/b-c and a-b/c). A volume that a user created has no such labels.
func CheckVolume(name string, have, wanted map[string]string) error {
	for _, label := range []string{api.LabelKind, api.LabelScope, api.LabelName, api.LabelClaim} {
		if has := have[label]; has != "" && has != wanted[label] {
			return &RejectedError{
				Reason: api.ReasonVolumeTaken,
				Detail: fmt.Sprintf("the volume %s is that of the claim %s of statefulset/%s/%s", name,
					have[api.LabelClaim], have[api.LabelScope], have[api.LabelName]),
				Next: "choose another name for the claim: the volume holds the other's data",
			}
		}
	}
	return nil
}

// CheckRemoval is CheckVolume for a volume that is to be removed. One that another cluster made on the engine stays
// too, although it may be mounted: two clusters may share an engine, and a cluster that was made again goes on with its
// data. A person has to decide, so the removal waits.
func CheckRemoval(name string, have, wanted map[string]string) error {
	if has := have[api.LabelCluster]; has != "" && has != wanted[api.LabelCluster] {
		return &RejectedError{
			Reason: api.ReasonVolumeNotRemoved,
			Detail: fmt.Sprintf("the volume %s was made by another cluster (%s)", name, has),
			Next:   "if that cluster is gone and its data is not needed, an admin of the machine removes it; Tend retries",
		}
	}
	return CheckVolume(name, have, wanted)
}
