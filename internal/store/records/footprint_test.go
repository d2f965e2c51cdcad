package records_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// answers repeats the reads of a footprint, and returns the answers: keys and revisions.
func answers(s records.Snapshot, reads []string) string {
	out := ""
	for _, read := range reads {
		switch read {
		case "index":
			for record := range s.Index(records.IndexTasksByOwner, web.String()) {
				out += fmt.Sprint(record.Key, record.Modified, " ")
			}
		case records.TasksPrefix, records.FrozenSetPrefix(web):
			for record := range s.Prefix(read) {
				out += fmt.Sprint(record.Key, record.Modified, " ")
			}
		default:
			record, ok := s.Get(read)
			out += fmt.Sprint(ok, record.Modified, " ")
		}
		out += ";"
	}
	return out
}

// TestAFootprintHoldsAsLongAsAllAnswersAreTheSame: and no longer, whatever is written.
func TestAFootprintHoldsAsLongAsAllAnswersAreTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newFixture(t)
		ids := []string{"a", "b", "c"}
		possible := []string{"index", records.TasksPrefix, records.FrozenSetPrefix(web), records.TaskKey("a"),
			records.FrozenKey(web, "b")}
		reads := rapid.SliceOfDistinct(rapid.SampledFrom(possible), rapid.ID).Draw(rt, "reads")
		write := func(rt *rapid.T) records.Snapshot {
			id, txn := rapid.SampledFrom(ids).Draw(rt, "id"), records.NewTxn("test")
			switch rapid.IntRange(0, 4).Draw(rt, "write") {
			case 0:
				txn.Put(records.TaskKey(id), task(id, id))
			case 1:
				of := task(id, id)
				of.Name = "other"
				txn.Put(records.TaskKey(id), of)
			case 2:
				txn.Delete(records.TaskKey(id))
			case 3:
				txn.Put(records.FrozenKey(web, id), api.Frozen{Slot: id})
			case 4:
				txn.Delete(records.FrozenKey(web, id)).Put(records.MovesKey(web), api.Moves{})
			}
			return p.commit(txn)
		}
		s := write(rt)
		var footprint records.Footprint
		first := answers(s.Into(&footprint), reads)
		if !footprint.Holds(s) {
			rt.Fatal("it does not hold for the snapshot it is of")
		}
		for range rapid.IntRange(1, 6).Draw(rt, "writes") {
			later := write(rt)
			if now := answers(later, reads); footprint.Holds(later) != (now == first) {
				rt.Fatalf("it holds: %v, though the answers were\n%s and are\n%s", footprint.Holds(later), first, now)
			}
		}
	})
}

func TestAFootprintOfWhatIsKeptElsewhere(t *testing.T) {
	s, kept := newFixture(t).commit(records.NewTxn("test").Put(records.FrozenKey(web, "a"), api.Frozen{})), 1
	var footprint, fleeting records.Footprint
	s.Into(&footprint).Kept(kept, func(records.Snapshot) any { return kept })
	if !footprint.Holds(s) {
		t.Error("what is kept is the same, and it does not hold")
	}
	kept = 2
	if footprint.Holds(s) {
		t.Error("it holds, though what is kept is not the same")
	}
	s.Into(&fleeting).Fleeting()
	if fleeting.Holds(s) {
		t.Error("it holds, though what was read may have changed without a write")
	}
	if plain := s.Into(&footprint).Plain(); plain.Reader != s.Reader {
		t.Error("Plain is not the snapshot itself")
	}
}
