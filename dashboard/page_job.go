package dashboard

import (
	"errors"
	"net/http"
	"slices"

	"github.com/kilnjobs/kiln/driver"
)

// jobBody is what a job's page shows.
type jobBody struct {
	Job                   *jobView
	CanRequeue, CanDelete bool
	Parents, Children     *idList
	// Console says that the store keeps what handlers write.
	Console              bool
	Groups               []logGroup
	LastSeq, LastAttempt int64
	MoreLogs             bool
	// Entries are the history, newest first.
	Entries []entryView
}

// logGroup is what one attempt wrote.
type logGroup struct {
	Attempt int
	Lines   []lineView
}

// idList is a list of ids, cut to what a page has room for.
type idList struct {
	Shown []int64
	More  int64
}

const (
	// linesShown is how many lines of a console a page has when it is opened.
	linesShown = 500
	idsShown   = 50
)

func (h *handler) jobPage(w http.ResponseWriter, r *request) error {
	ctx := r.Context()
	id, err := r.id()
	if err != nil {
		return err
	}
	job, err := h.readJob(ctx, id)
	if err != nil {
		return err
	}
	body := jobBody{
		Job:        &job,
		CanRequeue: job.State == driver.Scheduled || job.State == driver.Failed || job.State.Archived(),
		CanDelete:  job.State.Live(),
		Parents:    idsOf(job.Parents), Children: idsOf(job.Children),
		Entries: slices.Clone(job.History), LastAttempt: int64(job.Attempt),
	}
	slices.Reverse(body.Entries)
	logs, err := h.readLogs(ctx, id, 0, linesShown)
	switch {
	case err == nil:
		body.Console = true
		body.take(logs.Lines)
	case !errors.Is(err, driver.ErrNotFound):
		return err
	}
	heading := job.Title
	if heading == "" {
		heading = job.Kind
	}
	return h.show(w, r, http.StatusOK, "job", frame{
		Heading: heading, Section: "jobs", Watch: "jobs/" + r.param("key"), Body: body,
	})
}

// take groups the lines of a console by the attempts that wrote them.
func (b *jobBody) take(lines []lineView) {
	for _, line := range lines {
		if n := len(b.Groups); n == 0 || b.Groups[n-1].Attempt != line.Attempt {
			b.Groups = append(b.Groups, logGroup{Attempt: line.Attempt})
		}
		last := &b.Groups[len(b.Groups)-1]
		last.Lines = append(last.Lines, line)
		b.LastSeq, b.LastAttempt = line.Seq, int64(line.Attempt)
	}
	b.MoreLogs = len(lines) >= linesShown
}

// Ran is how long the attempt of an entry of the history ran, in milliseconds, 0 when that is not known.
func (b jobBody) Ran(e entryView) int64 {
	started := e.StartedAt
	if started.IsZero() && e.Attempt == b.Job.Attempt && e.Server != "" && !b.Job.AttemptedAt.After(e.At) {
		started = b.Job.AttemptedAt
	}
	if started.IsZero() {
		return 0
	}
	return max(e.At.Sub(started).Milliseconds(), 1)
}

func idsOf(ids []int64) *idList {
	if len(ids) == 0 {
		return nil
	}
	return &idList{Shown: ids[:min(len(ids), idsShown)], More: int64(max(len(ids)-idsShown, 0))}
}
