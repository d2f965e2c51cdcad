package cli

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run this test binary as `tend`: the very command line, in processes of its own, against real servers over
// simulated engines.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tend": func() { os.Exit(Main(context.Background(), os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": serverCmd, "engine": engineCmd, "image": imageCmd, "exits": exitsCmd, "until": untilCmd, "pod": podCmd, "line": lineCmd,
			"scaler": scalerCmd,
		},
	})
}
