package storekit

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestTallies(t *testing.T) {
	var all Tallies
	all.Joined(0, driver.Enqueued)
	all.Moved(0, driver.Enqueued, driver.Failed, 3)
	if len(all) != 0 {
		t.Errorf("batch 0 is counted: %v", all)
	}
	all.Joined(1, driver.Awaiting)
	all.Moved(1, driver.Awaiting, driver.Processing, 1)
	before := all.Clone()
	all.Of(1).Add(&Tally{Total: 2, States: [TallyGroups]int64{TallyFailed: 2}, Nested: 1, Finished: 1, Sealed: true, Look: true})
	all.Joined(2, driver.Deleted)
	if want := (Tally{Total: 1, States: [TallyGroups]int64{TallyActive: 1}}); *before[1] != want || len(before) != 1 {
		t.Errorf("a copy has become %+v with the original, want %+v", before[1], want)
	}
	want := Tally{Total: 3, States: [TallyGroups]int64{TallyActive: 1, TallyFailed: 2}, Nested: 1, Finished: 1, Sealed: true, Look: true}
	if *all[1] != want || all[2].States[TallyDeleted] != 1 {
		t.Errorf("got %+v and %+v, want %+v and one deleted", all[1], all[2], want)
	}
	groups := map[int]bool{}
	for _, state := range driver.States {
		groups[TallyGroup(state)] = true
	}
	if len(groups) != TallyGroups || TallyGroup(driver.Enqueued) != TallyGroup(driver.Processing) {
		t.Errorf("the states are %d groups, want %d, enqueued and processing in one", len(groups), TallyGroups)
	}
}

func TestServerCounts(t *testing.T) {
	var all ServerCounts
	all.Add("a", NoStat, 5)
	all.Add("a", StatFailed, 0)
	if all != nil {
		t.Errorf("nothing is counted as %v", all)
	}
	all.Add("a", StatSucceeded, 2)
	before := all.Clone()
	for _, stat := range []Stat{StatSucceeded, StatFailed, StatDeleted, StatRetried} {
		all.Add("a", stat, 1)
	}
	if *before["a"] != (Counts{Succeeded: 2}) || *all["a"] != (Counts{3, 1, 1, 1}) {
		t.Errorf("got %+v, and before %+v", all["a"], before["a"])
	}
}

func TestEventSet(t *testing.T) {
	var s EventSet
	a, b := driver.Event{Kind: driver.JobsReady, Queue: "a"}, driver.Event{Kind: driver.JobsReady, Queue: "b"}
	s.Add(a)
	s.Add(b)
	before := s.Clone()
	c := driver.Event{Kind: driver.CancelRequested, ID: 1}
	for _, e := range []driver.Event{a, b, c, c} {
		s.Add(e)
	}
	before.Add(a)
	if !slices.Equal(s.List, []driver.Event{a, b, c}) || !slices.Equal(before.List, []driver.Event{a, b}) {
		t.Errorf("got %v, and before %v", s.List, before.List)
	}
}

func TestPacker(t *testing.T) {
	var p Packer
	var kept, want [][]byte
	for i := range 3000 {
		b := bytes.Repeat([]byte{byte(i)}, i*7%6000)
		want = append(want, bytes.Clone(b))
		kept = append(kept, p.Keep(b))
		clear(b)
	}
	for i := range kept {
		if !bytes.Equal(kept[i], want[i]) {
			t.Fatalf("value %d of %d bytes has changed", i, len(want[i]))
		}
		_ = append(kept[i], 1) // must not reach the next one
	}
}

func TestEncoding(t *testing.T) {
	meta, tags := map[string]string{"a": "1", "ü": "\""}, []string{"x", "", "y"}
	m, err := EncodeMeta(meta)
	if got := DecodeMeta([]byte(m)); err != nil || !maps.Equal(got, meta) {
		t.Errorf("meta comes back as %v, %v", got, err)
	}
	g, err := EncodeTags(tags)
	if got := DecodeTags([]byte(g)); err != nil || !slices.Equal(got, tags) {
		t.Errorf("tags come back as %q, %v", got, err)
	}
	for _, empty := range []map[string]string{nil, {}} {
		if m, err := EncodeMeta(empty); m != "" || err != nil {
			t.Errorf("no meta is %q, %v", m, err)
		}
	}
	if DecodeMeta([]byte("[")) != nil || DecodeTags([]byte("{")) != nil || DecodeMeta(nil) != nil || DecodeTags(nil) != nil {
		t.Error("what cannot be read is not left out")
	}
}
