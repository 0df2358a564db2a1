package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// table is every job that the server holds, from the reply of the claim to the reply of the finish. It is the one truth
// behind heartbeats, give-backs, cancellations and lost leases.
type table struct {
	held map[int64]*Run
	// superseded are runs whose job was handed to this server again while they still ran.
	superseded map[*Run]struct{}
	// claims are the moments at which the claims in flight began.
	claims map[*lane]time.Time
	// settled collects, while a heartbeat is in flight, what left the table since it began, so that its answer is not
	// mistaken for a lease that nobody runs.
	settled map[driver.Ref]struct{}
}

func newTable() *table {
	return &table{held: map[int64]*Run{}, superseded: map[*Run]struct{}{}, claims: map[*lane]time.Time{}}
}

// add takes a claimed job in and returns the run that it replaces, if the server still held the job under an older claim.
func (t *table) add(r *Run) (older *Run) {
	older = t.held[r.job.ID]
	t.held[r.job.ID] = r
	if older != nil && older.phase == running {
		t.superseded[older] = struct{}{}
	}
	return older
}

func (t *table) remove(r *Run) {
	delete(t.superseded, r)
	if t.held[r.job.ID] == r {
		delete(t.held, r.job.ID)
	}
	if t.settled != nil {
		t.settled[r.job.Ref] = struct{}{}
	}
}

// find returns the held run under exactly this claim.
func (t *table) find(ref driver.Ref) *Run {
	if r := t.held[ref.ID]; r != nil && r.job.Ref == ref {
		return r
	}
	return nil
}

// runs returns the held runs that match, by id, so that what is done with them has an order that a seed can repeat.
func (t *table) runs(match func(*Run) bool) []*Run {
	var out []*Run
	for _, r := range t.held {
		if match(r) {
			out = append(out, r)
		}
	}
	for r := range t.superseded {
		if match(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(a.job.ID, b.job.ID), cmp.Compare(a.job.Claim, b.job.Claim))
	})
	return out
}

// eachRunning calls f for every run whose handler runs.
func (t *table) eachRunning(f func(*Run)) {
	for _, r := range t.runs(func(r *Run) bool { return r.phase == running }) {
		f(r)
	}
}

// claimingSince reports whether every claim under way began after the given time.
func (t *table) claimingSince(first time.Time) bool {
	for _, began := range t.claims {
		if !began.After(first) {
			return false
		}
	}
	return true
}
