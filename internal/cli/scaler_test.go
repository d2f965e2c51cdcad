package cli

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// scalerCmd is `scaler SCOPE/NAME REPLICAS`: a field manager other than the users' scales, through the public verb.
func scalerCmd(ts *testscript.TestScript, _ bool, args []string) {
	scope, name, _ := strings.Cut(args[0], "/")
	replicas, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	storage, logger := machineOf(ts).store, slog.New(slog.DiscardHandler)
	v := view.New(storage, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: logger})
	done := make(chan struct{})
	go func() { defer close(done); _ = v.Run(ctx) }()
	defer func() { cancel(); <-done }()
	<-v.Synced()
	service := verbs.New(verbs.Options{Store: storage, Reader: verbs.FromView{Store: storage, View: v}, Logger: logger})
	_, err = service.Scale(ctx, verbs.Target{Scope: scope, Name: name}, replicas,
		verbs.FieldManager{Manager: "scaler", Actor: "cpu"})
	ts.Check(err)
}
