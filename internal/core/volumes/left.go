package volumes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// OfOrdinal is a volume of an ordinal that a statefulset no longer has.
type OfOrdinal struct {
	Volume, Node string
	Ordinal      int
}

// Left returns the volumes of ordinals from one on, which a statefulset left behind when it was scaled down. homes
// names the node that has the data of each volume.
func Left(homes map[string]string, ref api.Ref, claims []api.VolumeClaim, from int) []OfOrdinal {
	var out []OfOrdinal
	for volume, node := range homes {
		n, err := strconv.Atoi(volume[strings.LastIndexByte(volume, '-')+1:])
		if err != nil || n < from {
			continue
		}
		own := func(c api.VolumeClaim) bool { return volume == api.ClaimVolume(ref, c.Name, n) }
		if slices.ContainsFunc(claims, own) {
			out = append(out, OfOrdinal{Volume: volume, Node: node, Ordinal: n})
		}
	}
	slices.SortFunc(out, func(a, b OfOrdinal) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Volume, b.Volume))
	})
	return out
}
