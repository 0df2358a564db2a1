package dashboard

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// timeline is a job's life as one bar to scale: waits, runs and the backoffs between them.
type timeline struct {
	Segments []segment
	// From and To are its ends; Now says that To is the present.
	From, To time.Time
	Now      bool
}

// segment is one stretch of the bar.
type segment struct {
	// Kind is wait, backoff, run, or mixed: an attempt of which only the end is known.
	Kind string
	// Outcome is the state that a run led to, empty while it runs.
	Outcome  driver.State
	Attempt  int
	From, To time.Time
	// Broken says that it is drawn shorter than it is.
	Broken   bool
	X, Width int
}

// TookMS is how long the segment lasted, in milliseconds.
func (s segment) TookMS() int64 { return s.To.Sub(s.From).Milliseconds() }

// timelineWidth is how many units wide the bar is, and timelineLeast the narrowest that a segment is drawn.
const (
	timelineWidth = 1000
	timelineLeast = 12
)

// lineOf draws the life of a job up to now.
func lineOf(j *jobView, now time.Time) *timeline {
	t := &timeline{From: j.CreatedAt}
	at := j.CreatedAt
	waitKind := "wait"
	for i := range j.History {
		e := &j.History[i]
		if e.Reason == "requeued" {
			t.add(segment{Kind: waitKind, From: at, To: e.At})
			at, waitKind = e.At, "wait"
			continue
		}
		if e.Attempt == 0 || e.Server == "" {
			continue
		}
		t.attempt(e, j, at, waitKind)
		at, waitKind = e.At, "wait"
		if e.State == driver.Scheduled {
			waitKind = "backoff"
		}
	}
	t.rest(j, at, waitKind, now)
	t.layOut()
	return t
}

// attempt adds the wait for an attempt and its run. Only the start of the latest attempt is always known.
func (t *timeline) attempt(e *entryView, j *jobView, at time.Time, waitKind string) {
	started := e.StartedAt
	if started.IsZero() && e.Attempt == j.Attempt && !j.AttemptedAt.Before(at) && !j.AttemptedAt.After(e.At) {
		started = j.AttemptedAt
	}
	if started.IsZero() || started.Before(at) {
		t.add(segment{Kind: "mixed", From: at, To: e.At, Attempt: e.Attempt, Outcome: e.State})
	} else {
		t.add(segment{Kind: waitKind, From: at, To: started, Attempt: e.Attempt})
		t.add(segment{Kind: "run", From: started, To: e.At, Attempt: e.Attempt, Outcome: e.State})
	}
}

// rest adds what has happened since the last entry of the history.
func (t *timeline) rest(j *jobView, at time.Time, waitKind string, now time.Time) {
	end := j.FinalizedAt
	if end.IsZero() {
		end, t.Now = now, true
	}
	switch {
	case j.State == driver.Processing, j.State == driver.Succeeded && !j.AttemptedAt.Before(at):
		started := j.AttemptedAt
		if started.Before(at) {
			started = at
		}
		outcome := driver.State("")
		if j.State == driver.Succeeded {
			outcome = j.State
		}
		t.add(segment{Kind: waitKind, From: at, To: started, Attempt: j.Attempt})
		t.add(segment{Kind: "run", From: started, To: end, Attempt: j.Attempt, Outcome: outcome})
	case end.After(at):
		t.add(segment{Kind: waitKind, From: at, To: end})
	}
	t.To = end
}

func (t *timeline) add(s segment) {
	if s.To.After(s.From) || s.Kind == "run" {
		t.Segments = append(t.Segments, s)
	}
}

// layOut gives the segments their places. A wait that would leave the rest too small to be seen is cut short and marked.
func (t *timeline) layOut() {
	weights := make([]float64, len(t.Segments))
	var total, busy float64
	for i, s := range t.Segments {
		weights[i] = max(s.To.Sub(s.From).Seconds(), 0.001)
		total += weights[i]
		if s.Kind == "run" || s.Kind == "mixed" {
			busy += weights[i]
		}
	}
	if busy > 0 {
		total = 0
		for i, s := range t.Segments {
			if idle := s.Kind == "wait" || s.Kind == "backoff"; idle && weights[i] > 4*busy {
				weights[i], t.Segments[i].Broken = 2*busy, true
			}
			total += weights[i]
		}
	}
	room := float64(timelineWidth - timelineLeast*len(t.Segments))
	x := 0
	for i := range t.Segments {
		width := timelineLeast + int(weights[i]/total*max(room, 0))
		t.Segments[i].X, t.Segments[i].Width = x, width
		x += width
	}
	if n := len(t.Segments); n > 0 {
		t.Segments[n-1].Width += max(timelineWidth-x, 0)
	}
}
