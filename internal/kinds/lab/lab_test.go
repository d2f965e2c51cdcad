package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/store/records"
)

// TestALabLivesFromItsInstantToItsInstant: between the two there is nothing that polls: the engine's requeue alone
// brings it back, and its pass finds nothing to do.
func TestALabLivesFromItsInstantToItsInstant(t *testing.T) {
	inHarness(t, func(l *harness) {
		begins := time.Now().Add(90 * time.Minute)
		l.Put(labOf(90*time.Minute, time.Hour), linux)
		l.Pass(time.Second)
		l.phase(linux, api.LabPending, api.ReasonScheduled)
		l.condition(linux, api.ConditionProgressing, api.ConditionFalse, api.ReasonScheduled)
		l.Pass(time.Until(begins) - time.Millisecond)
		l.phase(linux, api.LabPending, api.ReasonScheduled)
		l.Pass(50 * time.Millisecond)
		l.phase(linux, api.LabRunning, api.ReasonRunning)
		l.condition(linux, api.ConditionReady, api.ConditionTrue, api.ReasonRunning)
		s := l.status(linux)
		if late := s.StartedAt.Sub(begins); late < 0 || late > 50*time.Millisecond {
			t.Errorf("it began %s after its instant", late)
		}
		if !s.EndsAt.Equal(s.StartedAt.Add(time.Hour)) || s.AccessURL != "http://127.0.0.1:32768" || s.Node != "n1" ||
			s.Container == "" {
			t.Errorf("%+v", s)
		}
		if s.ObservedGeneration != 1 {
			t.Errorf("observed generation %d", s.ObservedGeneration)
		}
		l.Pass(time.Until(s.EndsAt) - time.Millisecond)
		l.phase(linux, api.LabRunning, "")
		l.Pass(20 * time.Millisecond)
		l.phase(linux, api.LabTimeout, api.ReasonTimedOut)
		if late := l.status(linux).CompletedAt.Sub(s.EndsAt); late < 0 || late > 20*time.Millisecond {
			t.Errorf("it ended %s after its instant", late)
		}
		l.Pass(time.Second)
		l.nothingLeft(linux)
		l.condition(linux, api.ConditionProgressing, api.ConditionFalse, api.ReasonComplete)
		if url := l.status(linux).AccessURL; url != "" {
			t.Errorf("after its end it is at %s", url)
		}
		l.seen(linux, api.LabPending, api.LabProvisioning, api.LabRunning, api.LabTimeout)
	})
}

// TestEnds: what the container did counts, and what follows leaves nothing.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		lasts  time.Duration
		code   int
		phase  api.LabPhase
		reason string
	}{
		"with 0":                        {10 * time.Minute, 0, api.LabCompleted, api.ReasonCompleted},
		"with an error":                 {10 * time.Minute, 7, api.LabFailed, api.ReasonExited},
		"at once":                       {0, 0, api.LabCompleted, api.ReasonCompleted},
		"later than its time is over":   {2 * time.Hour, 0, api.LabTimeout, api.ReasonTimedOut},
		"an error later than that time": {2 * time.Hour, 7, api.LabTimeout, api.ReasonTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				l.Node.Set(func(n *controltest.Node) { n.Lasts, n.Code = c.lasts, c.code })
				l.Put(labOf(0, time.Hour), linux)
				l.Pass(3 * time.Hour)
				l.phase(linux, c.phase, c.reason)
				l.nothingLeft(linux)
				s := l.status(linux)
				if c.phase == api.LabFailed && (s.ExitCode == nil || *s.ExitCode != 7 ||
					strings.Join(s.LastLog, "") != "no route to host") {
					t.Errorf("exit code %v, last lines %v", s.ExitCode, s.LastLog)
				}
				l.seen(linux, api.LabPending, api.LabProvisioning, api.LabRunning, c.phase)
			})
		})
	}
}

// TestAnEndedLabIsLeftAlone: reconciles after the end write nothing, whatever is applied.
func TestAnEndedLabIsLeftAlone(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Minute), linux)
		l.Pass(5 * time.Minute)
		l.phase(linux, api.LabTimeout, "")
		before := l.View.Revision()
		l.Pass(2 * time.Hour)
		if now := l.View.Revision(); now != before {
			t.Errorf("the store went from revision %d to %d", before, now)
		}
		l.Put(labOf(0, 10*time.Hour), linux)
		l.Pass(time.Hour)
		l.phase(linux, api.LabTimeout, "")
		if s := l.status(linux); s.ObservedGeneration != 2 {
			t.Errorf("observed generation %d", s.ObservedGeneration)
		}
		l.nothingLeft(linux)
	})
}

// TestAContainerThatCantBeStartedFailsNoLab: another one is made, later each time, and nothing of the first ones is
// left.
func TestAContainerThatCantBeStartedFailsNoLab(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Rejects = 3 })
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(5 * time.Second)
		l.phase(linux, api.LabProvisioning, api.ReasonProvisioningFailed)
		l.condition(linux, api.ConditionDegraded, api.ConditionTrue, api.ReasonProvisioningFailed)
		if s := l.status(linux); s.Failures != 3 || !strings.Contains(s.Message, "port 80 is taken") {
			t.Errorf("%+v", s)
		}
		l.Pass(5 * time.Second)
		l.phase(linux, api.LabRunning, "")
		if made := l.Node.Made(linux); made != 4 || len(l.Node.Containers(linux)) != 1 ||
			len(l.Snapshot().TasksOf(linux)) != 1 {
			t.Errorf("%d containers were made, %v are there", made, l.Node.Containers(linux))
		}
	})
}

// TestALabWithoutRoomWaits: it is PENDING, and the scheduler gives the reason.
func TestALabWithoutRoomWaits(t *testing.T) {
	inHarness(t, func(l *harness) {
		big := labOf(0, time.Hour)
		big.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "40Gi"}}
		other := api.Ref{Kind: api.KindLab, Scope: "school", Name: "other"}
		l.Put(big, linux)
		l.Pass(time.Second)
		l.Put(big, other)
		l.Pass(time.Minute)
		l.phase(linux, api.LabRunning, "")
		l.phase(other, api.LabPending, api.ReasonNoNode)
		if s := l.status(other); !strings.Contains(s.Message, "memory") {
			t.Errorf("it waits because of %q", s.Message)
		}
		l.condition(other, api.ConditionDegraded, api.ConditionTrue, api.ReasonNoNode)
		l.Pass(time.Hour)
		l.phase(linux, api.LabTimeout, "")
		l.phase(other, api.LabRunning, "")
		l.condition(other, api.ConditionDegraded, api.ConditionFalse, api.ReasonAsExpected)
	})
}

// TestMoreTimeAndAnEarlyEnd are orders: the spec stays as it is, and applying it again takes nothing back.
func TestMoreTimeAndAnEarlyEnd(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := labOf(0, time.Hour)
		l.Put(spec, linux)
		l.Pass(50 * time.Minute)
		l.order(linux, 30*time.Minute, "")
		l.Pass(time.Second)
		if s := l.status(linux); s.Extended != "30m0s" || !s.EndsAt.Equal(s.StartedAt.Add(90*time.Minute)) {
			t.Errorf("%+v", s)
		}
		l.Put(spec, linux)
		l.Pass(39 * time.Minute)
		l.phase(linux, api.LabRunning, "")
		l.order(linux, 0, "ada")
		l.Pass(time.Second)
		l.phase(linux, api.LabCompleted, api.ReasonStopped)
		if s := l.status(linux); s.Message != "stopped by ada" {
			t.Errorf("%q", s.Message)
		}
		l.nothingLeft(linux)
	})
}

// TestOrdersAreOfOneLab: one that was deleted and declared again inherits neither time nor an end.
func TestOrdersAreOfOneLab(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(time.Minute)
		l.order(linux, time.Hour, "ada")
		l.Pass(time.Minute)
		stale := *l.Snapshot().LabOrders(linux).Value
		l.Delete(linux)
		l.Pass(time.Minute)
		if s := l.Snapshot(); s.Object(linux).Exists() || s.LabOrders(linux).Exists() || s.LabStatus(linux).Exists() {
			t.Fatal("it is not gone")
		}
		l.Write(func(txn *records.Txn) { txn.Put(records.LabKey(linux), stale) })
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(30 * time.Minute)
		l.phase(linux, api.LabRunning, "")
		if s := l.status(linux); s.Extended != "" {
			t.Errorf("%+v", s)
		}
	})
}

// TestADeletedLabLeavesNothing, in whatever phase it is.
func TestADeletedLabLeavesNothing(t *testing.T) {
	for after, phase := range map[time.Duration]api.LabPhase{
		time.Minute: api.LabPending, 70 * time.Minute: api.LabRunning, 3 * time.Hour: api.LabTimeout,
	} {
		t.Run(string(phase), func(t *testing.T) {
			inHarness(t, func(l *harness) {
				l.Put(labOf(time.Hour, time.Hour), linux)
				l.Pass(after)
				l.phase(linux, phase, "")
				l.Delete(linux)
				l.Pass(time.Minute)
				for record := range l.Snapshot().Prefix("/") {
					if strings.HasPrefix(record.Key, records.ActualImagesPrefix) {
						continue // the agent's, which forgets it
					}
					if strings.Contains(record.Key, "lab/school/linux") ||
						strings.HasPrefix(record.Key, records.NamesPrefix) {
						t.Errorf("%s is left", record.Key)
					}
				}
				l.nothingLeft(linux)
			})
		})
	}
}

// TestALostNodeFailsItsLab: with the reason; the container goes when the node is back.
func TestALostNodeFailsItsLab(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(time.Minute)
		l.Node.Set(func(n *controltest.Node) { n.Cut = true })
		l.SetNode("n1", false)
		l.Pass(29 * time.Second)
		l.phase(linux, api.LabRunning, "")
		l.Pass(2 * time.Second)
		l.phase(linux, api.LabFailed, api.ReasonNodeLost)
		l.condition(linux, api.ConditionDegraded, api.ConditionTrue, api.ReasonLabFailed)
		l.Pass(time.Hour)
		l.SetNode("n1", true)
		l.Node.Set(func(n *controltest.Node) { n.Cut = false })
		l.Pass(time.Minute)
		l.phase(linux, api.LabFailed, api.ReasonNodeLost)
		l.nothingLeft(linux)
	})
}

// TestABrokenLabStopsNoOther: each is reconciled for itself.
func TestABrokenLabStopsNoOther(t *testing.T) {
	inHarness(t, func(l *harness) {
		broken, imageless := api.Ref{Kind: api.KindLab, Scope: "school", Name: "broken"},
			api.Ref{Kind: api.KindLab, Scope: "school", Name: "imageless"}
		l.Put(labOf(0, time.Hour), broken)
		l.Write(func(txn *records.Txn) {
			object := *l.Snapshot().Object(broken).Value
			object.Spec = []byte(`{"duration":7}`)
			txn.Put(records.ObjectKey(broken), object)
		})
		missing := labOf(0, time.Hour)
		missing.Image = "nowhere:1"
		l.Put(missing, imageless)
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(time.Minute)
		l.condition(broken, api.ConditionDegraded, api.ConditionTrue, api.ReasonInvalidSpec)
		l.phase(imageless, api.LabPending, "ImageNotFound")
		l.condition(imageless, api.ConditionDegraded, api.ConditionTrue, "ImageNotFound")
		l.phase(linux, api.LabRunning, "")
		l.Node.Set(func(n *controltest.Node) { n.Images["nowhere:1"] = "sha256:9" })
		l.Pass(time.Minute)
		l.phase(imageless, api.LabRunning, "")
	})
}

// TestTheZoneOfAStartCounts: 9 o'clock in Berlin is 8 in Greenwich.
func TestTheZoneOfAStartCounts(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := labOf(0, time.Hour)
		begins := time.Now().Add(time.Hour).Truncate(time.Second)
		spec.Start = begins.In(time.FixedZone("", 5*3600)).Format(time.RFC3339)
		l.Put(spec, linux)
		l.Pass(59 * time.Minute)
		l.phase(linux, api.LabPending, "")
		l.Pass(2 * time.Minute)
		l.phase(linux, api.LabRunning, "")
	})
}

// TestAClassBeginsTogether: each once, all at their instant, and a class is gone together.
func TestAClassBeginsTogether(t *testing.T) {
	inHarness(t, func(l *harness) {
		var class []api.Ref
		for n := range 30 {
			class = append(class, api.Ref{Kind: api.KindLab, Scope: "school", Name: fmt.Sprintf("linux-%d", n+1)})
		}
		begins := time.Now().Add(time.Hour)
		l.Put(labOf(time.Hour, time.Hour), class...)
		l.Pass(time.Hour + time.Second)
		for _, ref := range class {
			l.phase(ref, api.LabRunning, "")
			if late := l.status(ref).StartedAt.Sub(begins); late > 100*time.Millisecond {
				t.Errorf("%s began %s late", ref, late)
			}
			if l.Node.Made(ref) != 1 {
				t.Errorf("%s: %d containers were made", ref, l.Node.Made(ref))
			}
		}
		l.Pass(time.Hour)
		for _, ref := range class {
			l.phase(ref, api.LabTimeout, "")
			l.nothingLeft(ref)
		}
	})
}

// TestAnEndedLabRestsOverReports: what nodes report costs it nothing.
func TestAnEndedLabRestsOverReports(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Minute), linux)
		l.Pass(2 * time.Minute)
		l.nothingLeft(linux)
		l.RestsOverReports(Kind(l.Deps(), Options{}))
	})
}

// TestADeletedLabPassesANodeThatIsOff: what is left there is a leftover, which the node clears when it answers.
func TestADeletedLabPassesANodeThatIsOff(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(time.Minute)
		l.Node.Set(func(n *controltest.Node) { n.Cut = true })
		l.SetNode("n1", false)
		l.Pass(time.Minute)
		l.Delete(linux)
		l.Pass(time.Minute)
		if !l.Snapshot().Object(linux).Exists() {
			t.Fatal("it doesn't wait for a container that may run")
		}
		l.ConfirmDown("n1")
		l.Pass(time.Second)
		if left := l.Snapshot().LeftoversOf(linux); l.Snapshot().Object(linux).Exists() || len(left) != 1 {
			t.Errorf("%+v; leftovers %v", l.Snapshot().Object(linux).Value, left)
		}
	})
}
