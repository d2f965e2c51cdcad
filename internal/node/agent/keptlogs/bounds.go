package keptlogs

import (
	"cmp"
	"slices"

	"tend.dev/tend/api/node"
)

// Limits bound what is kept.
type Limits struct {
	// File is the most bytes of one container's log; default 2 MiB.
	File int64
	// Object and Files are the most bytes and files of one object; default 10 MiB and node.MaxKeptLogs.
	Object int64
	Files  int
	// Node is the most bytes of all; default 1 GiB.
	Node int64
}

func (l Limits) withDefaults() Limits {
	l.File = cmp.Or(l.File, 2<<20)
	l.Object = cmp.Or(l.Object, 10<<20)
	l.Files = cmp.Or(l.Files, node.MaxKeptLogs)
	l.Node = cmp.Or(l.Node, 1<<30)
	return l
}

// kept is one file.
type kept struct {
	node.KeptLog
	path string
	size int64
}

// surplus returns the files that exceed the limits: the oldest ones of an object, and of all.
func (l Limits) surplus(all []kept) []kept {
	type use struct {
		bytes int64
		files int
	}
	var out []kept
	var total int64
	objects := map[string]use{}
	for _, k := range newestFirst(all) {
		object := objects[k.OwnerUID]
		object.bytes, object.files = object.bytes+k.size, object.files+1
		if object.bytes > l.Object || object.files > l.Files || total+k.size > l.Node {
			out = append(out, k)
			continue
		}
		objects[k.OwnerUID] = object
		total += k.size
	}
	return out
}

func newestFirst(all []kept) []kept {
	return slices.SortedFunc(slices.Values(all), func(a, b kept) int {
		return cmp.Or(b.KeptAt.Compare(a.KeptAt), cmp.Compare(a.Container, b.Container))
	})
}
