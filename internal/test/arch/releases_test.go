package arch

import (
	"fmt"
	"go/ast"
	"testing"
)

// TestReleasesOfTasksAreReadByUID: a task that is left of a deleted object names its release by a number that an object
// made again under that name uses too. Only a status belongs to the object that is there.
func TestReleasesOfTasksAreReadByUID(t *testing.T) {
	report(t, releasesByName(sources(t), "internal/store/records"))
}

// releasesByName finds reads of the release that a task names, by the owner's name alone, outside the folder reader.
func releasesByName(all []*source, reader string) (faults []string) {
	for _, s := range all {
		if s.test || within(s.folder(), reader) {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			method, _ := call.Fun.(*ast.SelectorExpr)
			id, named := call.Args[1].(*ast.SelectorExpr)
			if method == nil || method.Sel.Name != "Release" || !named || id.Sel.Name != "Release" {
				return true
			}
			if of, _ := id.X.(*ast.Ident); of == nil || of.Name != "status" {
				faults = append(faults, fmt.Sprintf(
					"%s reads the release of a task by its owner's name, which another object may have by now: use ReleaseOf",
					s.at(call)))
			}
			return true
		})
	}
	return faults
}
