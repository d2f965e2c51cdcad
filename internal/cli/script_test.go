package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tend.dev/tend/internal/kinds/toy"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/test/race"
)

// The scripts run this test binary as `tend`: the real command line, in processes of its own, against real servers over
// simulated engines.
func TestMain(m *testing.M) {
	controlplane.Kinds = append(controlplane.Kinds, toy.Kind)
	testscript.Main(m, map[string]func(){
		"tend": func() { os.Exit(Main(context.Background(), os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	some := scripts[:0:0]
	for i, script := range scripts {
		if i%race.Few == 0 { // most of a script is starting programs, which takes long under the detector
			some = append(some, script)
		}
	}
	testscript.Run(t, testscript.Params{
		Files:               some,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": serverCmd, "engine": engineCmd, "image": imageCmd, "exits": exitsCmd, "until": untilCmd,
			"pod": podCmd, "line": lineCmd,
			"scaler": scalerCmd,
		},
	})
}
