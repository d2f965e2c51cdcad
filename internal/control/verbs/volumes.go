package verbs

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Occupied names the container that writes to a volume of an object, and what to do about it.
type Occupied struct{ Detail, Next string }

// occupiedTime bounds how long an apply asks for other writers. The agents ask again before each start.
const occupiedTime = 5 * time.Second

// occupied asks, before the verb has its turn, whether the pods of the objects could start.
func (s *Service) occupied(ctx context.Context, objects []api.Object) map[api.Ref]Occupied {
	if s.opts.Occupied == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, occupiedTime)
	defer cancel()
	out := map[api.Ref]Occupied{}
	for _, object := range objects {
		if !object.Kind.HasSlots() {
			continue // the pods of the other kinds start later than they are applied
		}
		spec, err := api.DecodeSpec[api.DeploymentSpec](object)
		if err != nil || spec.ReplicaCount() == 0 {
			continue
		}
		if in, found := s.opts.Occupied(ctx, spec); found {
			out[object.Ref()] = in
		}
	}
	return out
}

// checkTaken refuses written objects that need what another container has: a port of the host, or a volume to itself.
func checkTaken(
	snap records.Snapshot, written []api.Object, going []records.Read[api.Object], m material, found *faults,
) {
	checkPorts(snap, written, going, found)
	checkVolumes(written, m, found)
}

// checkVolumes refuses what would start a second writer on a volume. What an apply leaves as it is starts nothing.
func checkVolumes(written []api.Object, m material, found *faults) {
	for _, object := range written {
		if in, refused := m.occupied[object.Ref()]; refused {
			found.add(VolumeInUse, object.Ref(), "volumes", in.Next, "%s", in.Detail)
		}
	}
}
