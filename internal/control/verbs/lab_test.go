package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func labObject(name, class, duration string) api.Object {
	spec := api.LabSpec{Owner: "ada@example.org", Duration: api.Duration(duration), Class: class}
	spec.Image = "lab:1"
	raw, _ := json.Marshal(spec)
	return api.Object{Kind: api.KindLab, Scope: "school", Name: name, Spec: raw}
}

func labTarget(name string) Target { return Target{Kind: api.KindLab, Scope: "school", Name: name} }

// phase puts a lab into a phase, as its controller would.
func (w *world) phase(name string, phase api.LabPhase) api.Ref {
	w.t.Helper()
	ref := api.Ref{Kind: api.KindLab, Scope: "school", Name: name}
	status := api.LabStatus{Phase: phase}
	if phase != api.LabPending {
		status.StartedAt = testTime
	}
	w.put(records.StatusKey(ref), status)
	return ref
}

// TestExtensionsAddUpBesideTheSpec: applying the manifest again changes neither.
func TestExtensionsAddUpBesideTheSpec(t *testing.T) {
	w := newWorld(t)
	w.mustApply(labObject("linux", "", "1h"))
	ref := w.phase("linux", api.LabRunning)
	before := *w.object(ref)
	for range 2 {
		if _, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), 30*time.Minute, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	w.mustApply(labObject("linux", "", "1h"))
	result, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), time.Minute, "bob")
	if err != nil {
		t.Fatal(err)
	}
	if changed := result.Labs[0]; changed.Extended != "1h1m0s" ||
		!changed.EndsAt.Equal(testTime.Add(2*time.Hour+time.Minute)) || !result.Changed {
		t.Errorf("%+v", result)
	}
	orders := w.snapshot().LabOrders(ref).Value
	if orders.OwnerUID != before.Metadata.UID || orders.Extended != 61*time.Minute || len(orders.Extensions) != 3 ||
		orders.Extensions[2].By != "bob" {
		t.Errorf("%+v", orders)
	}
	after := *w.object(ref)
	if string(after.Spec) != string(before.Spec) || after.Metadata.Generation != before.Metadata.Generation {
		t.Errorf("the spec went from %s to %s", before.Spec, after.Spec)
	}
}

// TestARepeatedExtensionCountsOnce: who repeats a request under its key, because its outcome was unknown, adds nothing.
func TestARepeatedExtensionCountsOnce(t *testing.T) {
	w := newWorld(t)
	w.mustApply(labObject("linux", "", "1h"))
	ref := w.phase("linux", api.LabRunning)
	ctx, err := WithIdempotencyKey(t.Context(), "the same")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.service.ExtendLabs(ctx, labTarget("linux"), time.Hour, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	if orders := w.snapshot().LabOrders(ref).Value; orders.Extended != time.Hour {
		t.Errorf("%+v", orders)
	}
}

func TestExtensionsHaveBounds(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		more   time.Duration
		phase  api.LabPhase
		want   Reason
	}{
		"nothing":  {"it changes nothing", 0, api.LabRunning, Invalid},
		"less":     {"an extension takes no time away", -time.Hour, api.LabRunning, Invalid},
		"overflow": {"the sum would be negative", time.Duration(1<<63 - 1), api.LabRunning, Invalid},
		"beyond": {"with its duration it would be longer than a lab may run",
			api.MaxLabDuration - time.Hour + time.Second, api.LabRunning, Invalid},
		"up to there":   {"the bound itself is possible", api.MaxLabDuration - time.Hour, api.LabRunning, ""},
		"not yet begun": {"it will run longer", time.Hour, api.LabPending, ""},
		"completed":     {"there is no time any more", time.Hour, api.LabCompleted, LabNotRunning},
		"timed out":     {"it is gone", time.Hour, api.LabTimeout, LabNotRunning},
		"failed":        {"it is gone", time.Hour, api.LabFailed, LabNotRunning},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(labObject("linux", "", "1h"))
			ref := w.phase("linux", c.phase)
			_, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), c.more, "ada")
			if c.want == "" {
				if err != nil || w.snapshot().LabOrders(ref).Value.Extended != c.more {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			wantReason(t, err, c.want)
			if w.snapshot().LabOrders(ref).Exists() {
				t.Error("something was stored")
			}
		})
	}
}

// TestManyExtensionsStayBounded: the record remembers the newest ones, and the sum of all.
func TestManyExtensionsStayBounded(t *testing.T) {
	w := newWorld(t)
	w.mustApply(labObject("linux", "", "1h"))
	ref := w.phase("linux", api.LabRunning)
	for n := range api.MaxLabExtensions + 5 {
		if _, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), time.Minute, fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	orders := w.snapshot().LabOrders(ref).Value
	if len(orders.Extensions) != api.MaxLabExtensions || orders.Extended != (api.MaxLabExtensions+5)*time.Minute ||
		orders.Extensions[0].By != "5" {
		t.Errorf("%d extensions, %s", len(orders.Extensions), orders.Extended)
	}
}

func TestOnlyALabThatHasBegunIsStopped(t *testing.T) {
	for phase, want := range map[api.LabPhase]Reason{
		api.LabPending: LabNotRunning, api.LabProvisioning: "", api.LabRunning: "", api.LabCompleted: LabNotRunning,
		api.LabTimeout: LabNotRunning,
	} {
		t.Run(string(phase), func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(labObject("linux", "", "1h"))
			ref := w.phase("linux", phase)
			_, err := w.service.StopLabs(t.Context(), labTarget("linux"), "ada")
			if want != "" {
				wantReason(t, err, want)
				return
			}
			if err != nil || w.snapshot().LabOrders(ref).Value.StoppedBy != "ada" {
				t.Fatalf("%v", err)
			}
			again, err := w.service.StopLabs(t.Context(), labTarget("linux"), "bob")
			if err != nil || again.Changed || w.snapshot().LabOrders(ref).Value.StoppedBy != "ada" {
				t.Errorf("the second stop: %+v, %v", again, err)
			}
		})
	}
}

// TestAClassIsOrderedTogether: by its name, apart from the labs that have ended or not begun.
func TestAClassIsOrderedTogether(t *testing.T) {
	w := newWorld(t)
	phases := []api.LabPhase{api.LabRunning, api.LabProvisioning, api.LabTimeout, api.LabPending}
	for n, phase := range phases {
		name := fmt.Sprintf("linux-%d", n+1)
		w.mustApply(labObject(name, "linux", "1h"))
		w.phase(name, phase)
	}
	w.mustApply(labObject("other", "", "1h"))
	w.phase("other", api.LabRunning)
	names := func(result api.LabResult) (names []string) {
		for _, changed := range result.Labs {
			names = append(names, changed.Lab.Name)
		}
		return names
	}
	extended, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), time.Hour, "ada")
	if err != nil || !slices.Equal(names(extended), []string{"linux-1", "linux-2", "linux-4"}) {
		t.Errorf("extended %v, %v", names(extended), err)
	}
	stopped, err := w.service.StopLabs(t.Context(), Target{Name: "linux"}, "ada")
	if err != nil || !slices.Equal(names(stopped), []string{"linux-1", "linux-2"}) {
		t.Errorf("stopped %v, %v", names(stopped), err)
	}
	_, err = w.service.StopLabs(t.Context(), labTarget("windows"), "ada")
	wantReason(t, err, NotFound)
	_, err = w.service.StopLabs(t.Context(), Target{Kind: api.KindDeployment, Name: "linux"}, "ada")
	wantReason(t, err, Invalid)
}

// TestALabThatEndsMeanwhileIsNotExtended: the verb has seen it RUNNING, and it ends before the verb commits.
func TestALabThatEndsMeanwhileIsNotExtended(t *testing.T) {
	w := newWorld(t)
	w.mustApply(labObject("linux", "", "1h"))
	ref := w.phase("linux", api.LabRunning)
	w.before = func() { w.phase("linux", api.LabTimeout) }
	_, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), time.Hour, "ada")
	wantReason(t, err, LabNotRunning)
	if w.snapshot().LabOrders(ref).Exists() {
		t.Error("it is extended")
	}
}

// TestALabsHostIsItsAlone, until it has ended.
func TestALabsHostIsItsAlone(t *testing.T) {
	w := newWorld(t)
	hosted := func(name string) api.Object {
		object := labObject(name, "", "1h")
		object.Spec = json.RawMessage(`{"image":"lab:1","owner":"ada@example.org","duration":"1h","host":"lab.example.org"}`)
		return object
	}
	w.mustApply(hosted("linux"))
	_, err := w.apply(ApplyOptions{}, hosted("windows"))
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != RouteTaken {
		t.Fatalf("%v", err)
	}
	w.phase("linux", api.LabTimeout)
	w.mustApply(hosted("windows"))
}
