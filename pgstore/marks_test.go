package pgstore

import (
	"slices"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// beginsAt is where a claim of any kind begins in the lane of queue q and rank 0, below 0 when the lane is not known.
func beginsAt(m *marks, now time.Time) int64 {
	list, _ := m.lines("", []string{"q"}, now)
	m.left()
	for _, l := range list {
		if l.laneKey == (laneKey{"q", 0}) {
			return l.mark
		}
	}
	return -1
}

func wantBegin(t *testing.T, m *marks, now time.Time, want int64, after string) {
	t.Helper()
	if got := beginsAt(m, now); got != want {
		t.Errorf("after %s a claim begins behind id %d, want %d", after, got, want)
	}
}

// looked is a store of marks that has looked at everything and found one lane.
func looked(now time.Time) *marks {
	m := &marks{}
	m.look("", []string{"q"}, now, []line{{laneKey: laneKey{"q", 0}}})
	return m
}

func TestMarks(t *testing.T) {
	now := time.Unix(1000, 0)
	lane := laneKey{"q", 0}
	m := looked(now)
	wantBegin(t, m, now, 0, "a look")
	m.reached("", lane, 50, false)
	wantBegin(t, m, now, 50, "a claim up to 50")
	m.reached("", lane, 40, false)
	wantBegin(t, m, now, 50, "another claim that came less far")
	m.lower(map[laneKey]int64{lane: 30})
	wantBegin(t, m, now, 29, "job 30 came back")
	m.lower(map[laneKey]int64{lane: 60})
	wantBegin(t, m, now, 29, "job 60 came")
	m.lower(map[laneKey]int64{{"q", -5}: 70})
	if list, _ := m.lines("", []string{"q"}, now); !slices.ContainsFunc(list, func(l line) bool { return l.rank == -5 && l.mark == 69 }) {
		t.Errorf("the lane of a new priority is not known: %v", list)
	}
	m.left()
	m.reached("", lane, 20, true)
	wantBegin(t, m, now, 20, "a look that found a job at 20, and perhaps more behind it")
}

// TestMarksOfClaimsUnderWay pins that a job which comes while a claim is under way is not hidden by the mark that the claim sets: its
// snapshot may be older than the job.
func TestMarksOfClaimsUnderWay(t *testing.T) {
	now := time.Unix(1000, 0)
	lane := laneKey{"q", 0}
	m := looked(now)
	m.lines("", []string{"q"}, now)
	m.lower(map[laneKey]int64{lane: 30})
	m.reached("", lane, 50, false)
	m.left()
	wantBegin(t, m, now, 29, "a claim up to 50 during which job 30 came")
	m.reached("", lane, 80, false)
	wantBegin(t, m, now, 80, "the next claim")
}

func TestMarksGrowOld(t *testing.T) {
	now := time.Unix(1000, 0)
	m := &marks{}
	for _, step := range []struct {
		after time.Duration
		cost  time.Duration
		want  age
	}{
		{0, 0, fresh}, {lookEvery + 1, 0, stale}, {4*lookEvery + 1, 0, old},
		// Where a look is dear it is due after twenty times what it takes.
		{lookEvery + 1, 100 * time.Millisecond, fresh}, {2001 * time.Millisecond, 100 * time.Millisecond, stale},
	} {
		m.look("", []string{"q"}, now, nil)
		m.looked("", []string{"q"}, step.cost)
		m.looked("", []string{"q"}, step.cost)
		_, got := m.lines("", []string{"q"}, now.Add(step.after))
		m.left()
		if got != step.want {
			t.Errorf("%s after a look that took %s the marks are of age %d, want %d", step.after, step.cost, got, step.want)
		}
	}
	if _, got := m.lines("", []string{"another"}, now); got != unknown {
		t.Errorf("marks of a queue that was never looked at are of age %d, want %d", got, unknown)
	}
	m.left()
	m.heed([]driver.Event{{Kind: driver.QueueChanged, Queue: "q"}})
	if _, got := m.lines("", []string{"q"}, now); got != old {
		t.Errorf("when a queue was resumed its marks are of age %d, want %d", got, old)
	}
	m.left()
}

// TestMarksRenewed pins that a look beside the claims puts marks back to a job that nobody has told of, and never forward.
func TestMarksRenewed(t *testing.T) {
	now := time.Unix(1000, 0)
	lane := laneKey{"q", 0}
	m := looked(now)
	m.reached("", lane, 50, false)
	m.renew("", []line{{lane, 70}, {laneKey{"q", 3}, 5}, {laneKey{"other", 0}, 1}})
	wantBegin(t, m, now, 50, "a look that found nothing below")
	m.renew("", []line{{lane, 9}})
	wantBegin(t, m, now, 9, "a look that found job 10")
	if list, _ := m.lines("", []string{"q"}, now); len(list) != 2 || list[1] != (line{laneKey{"q", 3}, 5}) {
		t.Errorf("a new lane is not known: %v", list)
	}
	m.left()
	if _, got := m.lines("", []string{"q"}, now.Add(2*time.Second)); got != old {
		t.Errorf("marks are of age %d, want %d", got, old)
	}
	m.left()
	m.trust("", []string{"q"}, now.Add(2*time.Second))
	if _, got := m.lines("", []string{"q"}, now.Add(2*time.Second)); got != fresh {
		t.Errorf("when somebody is about to look marks are of age %d, want %d", got, fresh)
	}
	m.left()
}
