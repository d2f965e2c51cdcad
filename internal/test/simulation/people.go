package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/fault"
)

// people call verbs, several at a time, and record the answers.
type people struct {
	wait     sync.WaitGroup
	history  history
	promises promises
	values   atomic.Int64 // config values are numbered, so that each is new
	runs     atomic.Int64 // requested runs that were not refused
	turn     atomic.Int64 // their connections, to any server
}

// ask calls a verb concurrently with everything else. The answer goes into the history of the object.
func (w *World) ask(ref api.Ref, in input, call func(ctx context.Context) error) {
	w.people.wait.Go(func() { w.askNow(ref, in, call) })
}

func (w *World) askNow(ref api.Ref, in input, call func(ctx context.Context) error) bool {
	if w.unmounted.Load() {
		return false // a verb on an empty store has no effect on the other one
	}
	w.count.verbs.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	w.people.promises.ask(ref)
	noted, asked := w.people.history.called(ref, in), time.Since(w.began).Seconds()
	err := call(ctx)
	answer := answerOf(err)
	if brokenAnswer(err) {
		w.fail("%s %s is answered 500: %v", in, ref, err)
	}
	noted.answered(answer)
	w.storyf("%s %s (asked at %.3fs): %s%s", in, ref, asked, answer, because(err))
	return answer == done
}

// brokenAnswer reports whether an answer means a fault of the server, and not its death.
func brokenAnswer(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusInternalServerError &&
		!strings.Contains(problem.Detail, fault.ErrCrashed.Error())
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// answerOf classifies the answers to verbs: a refusal changed nothing; any other error leaves the outcome unknown.
func answerOf(err error) answer {
	var problem *api.Problem
	switch {
	case err == nil:
		return done
	case client.IsNotFound(err):
		return absent
	case errors.As(err, &problem) && problem.Status < http.StatusInternalServerError:
		return refused
	}
	return open
}

func anyRef(random *rand.Rand) api.Ref { return anyOf(random, cast) }

func anySlotted(random *rand.Rand) api.Ref {
	for {
		if ref := anyRef(random); ref.Kind.HasSlots() {
			return ref
		}
	}
}

func (w *World) apply(object api.Object) {
	w.ask(object.Ref(), applied(object), w.applying(object))
}

func (w *World) applying(objects ...api.Object) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.client.Apply(ctx, api.ApplyRequest{Objects: objects})
		return err
	}
}

// applySomething applies a new object, or another variant of an existing one.
func applySomething(w *World, random *rand.Rand) { w.apply(manifest(random, anyRef(random), false)) }

func applyFiles(w *World, random *rand.Rand) { w.apply(assetManifest(random)) }

func applyIngress(w *World, random *rand.Rand) { w.apply(ingressManifest(anyOf(random, served))) }

func deleteSomething(w *World, random *rand.Rand) { w.remove(anyRef(random)) }

func (w *World) remove(ref api.Ref) {
	w.ask(ref, input{verb: "delete"}, w.deleting(ref))
}

func (w *World) deleting(ref api.Ref) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.client.Delete(ctx, ref)
		return err
	}
}

// replaceSomething deletes an object and applies another one of its name as soon as that is permitted, as a person at a
// terminal does.
func replaceSomething(w *World, random *rand.Rand) {
	ref := anyRef(random)
	object := manifest(random, ref, false)
	if ref.Name == "swap" && chance(random, 2) { // the name goes to another kind
		other := api.Ref{Kind: api.KindDeployment, Scope: ref.Scope, Name: ref.Name}
		if ref.Kind == api.KindDeployment {
			other.Kind = api.KindStatefulSet
		}
		object = manifest(random, other, false)
	}
	w.people.wait.Go(func() {
		if w.askNow(ref, input{verb: "delete"}, w.deleting(ref)) {
			w.applyAtLast(object)
		}
	})
}

// applyAtLast applies an object as soon as that is permitted.
func (w *World) applyAtLast(object api.Object) {
	for range 30 {
		if w.askNow(object.Ref(), applied(object), w.applying(object)) {
			return
		}
		sleepFor(short / 20)
	}
}

// hasten applies an object, runs it if it is a job, and deletes it again before the agent has finished its creation. A
// slow engine has made less of it.
func hasten(w *World, random *rand.Rand) {
	if chance(random, 2) {
		slowEngine(w, random)
	}
	ref := anyOf(random, []api.Ref{cast[0], cast[2], cast[5], cast[5], cast[6]})
	object, rest := manifest(random, ref, false), time.Duration(random.IntN(40))*time.Millisecond
	w.people.wait.Go(func() {
		if !w.askNow(ref, applied(object), w.applying(object)) {
			return
		}
		if ref.Kind.HasRuns() {
			w.askNow(ref, input{verb: "run"}, w.running(ref))
		}
		sleepFor(rest)
		w.askNow(ref, input{verb: "delete"}, w.deleting(ref))
	})
}

func setConfig(w *World, random *rand.Rand) {
	name := anyOf(random, []string{"", "web", "api", "db", "task"})
	change := api.ConfigRequest{Set: map[string]string{anyOf(random, []string{"X", "Y"}): w.people.fresh()}}
	if chance(random, 4) {
		change = api.ConfigRequest{Unset: []string{anyOf(random, []string{"X", "Y"})}}
	}
	w.ask(api.Ref{Kind: "config", Scope: scope, Name: name}, input{verb: "config"}, w.setting(name, change))
}

func (w *World) setting(name string, change api.ConfigRequest) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.client.SetConfig(ctx, scope, name, change)
		return err
	}
}

// fresh returns a new, unique value.
func (p *people) fresh() string { return strconv.FormatInt(p.values.Add(1), 10) }

func scaleSomething(w *World, random *rand.Rand) {
	ref, to := anySlotted(random), random.IntN(4)
	w.ask(ref, input{verb: "scale", replicas: to}, func(ctx context.Context) error {
		_, err := w.client.Scale(ctx, client.TargetOf(ref), to)
		return err
	})
}

func rollBackSomething(w *World, random *rand.Rand) {
	ref := anySlotted(random)
	var options []client.Option
	if random.IntN(2) == 0 {
		options = append(options, client.WithConfig)
	}
	w.ask(ref, input{verb: "rollback"}, w.rollingBack(ref, "", options...))
}

func (w *World) rollingBack(ref api.Ref, release string, options ...client.Option) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.client.Rollback(ctx, client.TargetOf(ref), release, options...)
		return err
	}
}

func restartSomething(w *World, random *rand.Rand) {
	ref := anySlotted(random)
	w.ask(ref, input{verb: "restart"}, func(ctx context.Context) error {
		_, err := w.client.Restart(ctx, client.TargetOf(ref))
		return err
	})
}

func rebootstrapSomething(w *World, random *rand.Rand) {
	ref := api.Ref{Kind: api.KindStatefulSet, Scope: scope, Name: "db"}
	w.ask(ref, input{verb: "rebootstrap"}, func(ctx context.Context) error {
		_, err := w.client.Rebootstrap(ctx, client.TargetOf(ref), random.IntN(3))
		return err
	})
}

func stopSomething(w *World, random *rand.Rand) {
	ref, freeze := anySlotted(random), chance(random, 2)
	w.people.wait.Go(func() {
		var stopped api.StopResult
		asked := w.people.promises.ask(ref)
		done := w.askNow(ref, input{verb: "stop"}, func(ctx context.Context) (err error) {
			stopped, err = w.client.Stop(ctx, client.TargetOf(ref), freeze)
			return err
		})
		if done && freeze {
			w.people.promises.keep(ref, asked+1, stopped.Pods)
		}
	})
}

func startSomething(w *World, random *rand.Rand) { w.startAgain(anySlotted(random)) }

func (w *World) startAgain(ref api.Ref) {
	w.ask(ref, input{verb: "start"}, func(ctx context.Context) error {
		_, err := w.client.Start(ctx, client.TargetOf(ref))
		return err
	})
}

// execSomething runs a command in a running pod, if there is one.
func execSomething(w *World, random *rand.Rand) {
	container, ok := w.pick(random)
	if !ok {
		return
	}
	w.people.wait.Go(func() {
		w.count.verbs.Add(1)
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		code, err := w.client.Exec(ctx, container.Name, api.ExecRequest{Command: []string{"true"}}, client.ExecIO{})
		w.storyf("exec in %s: %d%s", container.Name, code, because(err))
	})
}

// wipe deletes an object with its config and its volumes.
func wipe(w *World, random *rand.Rand) {
	ref := anyRef(random)
	w.ask(ref, input{verb: "delete"}, func(ctx context.Context) error {
		_, err := w.client.DeleteWith(ctx, ref,
			client.DeleteOptions{Prune: chance(random, 2), Volumes: ref.Kind == api.KindStatefulSet})
		return err
	})
}
