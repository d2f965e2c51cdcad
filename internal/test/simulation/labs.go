package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// In some worlds people also declare labs: they change, extend, stop and delete them, often at the very instant at
// which a lab begins or ends, and servers are down at such instants.

// labWorld reports whether a world has labs: one of seven.
func (w *World) labWorld() bool { return w.opts.Seed/10%7 == 0 }

// labCast are the labs there may be.
var labCast = []api.Ref{
	{Kind: api.KindLab, Scope: scope, Name: "maze"},
	{Kind: api.KindLab, Scope: scope, Name: "quiz"},
	{Kind: api.KindLab, Scope: scope, Name: "park"},
}

// The tags of labs' images besides those of all workloads.
const (
	tagEnds     = "ends"     // ends by itself with 0
	tagBreaks   = "breaks"   // ends by itself with 3
	tagStays    = "stays"    // runs until it is stopped
	tagStubborn = "stubborn" // runs until it is killed
)

var labTags = []string{tagEnds, tagBreaks, tagStays, tagStubborn}

// The time after which a lab's container ends by itself.
const labEnds, labBreaks = 20 * time.Second, 40 * time.Second

// behaveAsLab returns the behaviour of a lab's container.
func behaveAsLab(tag string) hollow.Behaviour {
	switch tag {
	case tagEnds:
		return hollow.Behaviour{Exits: true, ExitAfter: labEnds}
	case tagBreaks:
		return hollow.Behaviour{Exits: true, ExitAfter: labBreaks, ExitCode: 3}
	case tagStubborn:
		return hollow.Behaviour{IgnoresStop: true}
	}
	return hollow.Behaviour{}
}

// isLab reports whether a container is made for a lab.
func isLab(spec runtime.ContainerSpec) bool { return api.Kind(spec.Labels[api.LabelKind]).TimeBoxed() }

// stockLabs puts the images of labs on the machine.
func (w *World) stockLabs() {
	for _, ref := range labCast {
		for _, tag := range append([]string{tagBad}, labTags...) {
			w.addImage(ref.Name + ":" + tag)
		}
	}
}

// labManifest returns one of the many variants of a lab.
func (w *World) labManifest(random *rand.Rand, ref api.Ref) api.Object {
	spec := api.LabSpec{Container: container(random, ref, true), Owner: "ada@example.org"}
	spec.Image = ref.Name + ":" + anyOf(random, labTags)
	if chance(random, 8) {
		spec.Image = ref.Name + ":" + anyOf(random, []string{tagBad, tagMissing})
	}
	spec.SecretFiles, spec.Volumes = nil, nil // the key may not be set, and the asset not be there
	spec.Duration = api.Duration(anyOf(random, []string{"1s", "10s", "30s", "90s", "4m"}))
	switch random.IntN(5) {
	case 0, 1:
		spec.Start = startIn(w, time.Duration(random.IntN(100))*time.Second)
	case 2:
		spec.Start = startIn(w, -time.Hour)
	}
	return objectOf(ref, spec)
}

// startIn is the start of a lab that begins so much later, in whole seconds.
func startIn(w *World, d time.Duration) string {
	return w.now().Add(d).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// boxed reports whether an object is a lab, which the oracle of labs judges.
func boxed(object api.Object) bool { return object.Kind.TimeBoxed() }

// allRefs are the objects that a world may be about.
func (w *World) allRefs() []api.Ref {
	if w.labWorld() {
		return slices.Concat(cast, labCast)
	}
	return cast
}
