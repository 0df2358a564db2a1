package dashboard

import (
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

// why says in a few sentences why a job is where it is. Without an Explainer it says what the job itself tells.
func (p *pages) why(l *locale, j *jobView) []phrase {
	w := j.Why
	if w == nil {
		w = &whyView{QueueServed: true, KindServed: true}
	}
	s := sentences{locale: l, links: p.links, job: j, why: w}
	switch j.State {
	case driver.Awaiting:
		s.awaiting()
	case driver.Scheduled:
		s.scheduled()
	case driver.Throttled:
		s.throttled()
	case driver.Enqueued:
		s.enqueued()
	case driver.Processing:
		s.processing(p)
	case driver.Failed:
		s.failed()
	default:
		s.ended()
	}
	return s.all
}

type sentences struct {
	*locale
	links links
	job   *jobView
	why   *whyView
	all   []phrase
}

func (s *sentences) say(key string, args ...any) { s.all = append(s.all, s.phrase(key, args...)) }

func (s *sentences) awaiting() {
	var waits, stuck []phrase
	for _, parent := range s.why.Parents {
		link := phrase{s.jobLink(parent.ID, parent.Title)}
		waits = append(waits, s.phrase("why.parent", "job", link, "state", s.message("state."+string(parent.State))))
		if parent.State == driver.Failed {
			stuck = append(stuck, link)
		}
	}
	if more := s.why.OpenParents - len(s.why.Parents); more > 0 && len(waits) > 0 {
		waits = append(waits, s.counted("why.parents-more", int64(more)))
	}
	if batch := max(s.why.AfterBatch, 0); batch > 0 {
		link := piece{Text: s.text("batch.name", "id", plain(batch)), URL: s.links.path("batches", batch)}
		switch {
		case !s.why.BatchSealed:
			waits = append(waits, s.phrase("why.batch-open", "batch", link))
		default:
			waits = append(waits, s.counted("why.batch", s.why.BatchLive, "batch", link))
		}
	}
	if len(waits) == 0 {
		s.all = append(s.all, s.counted("why.awaiting", int64(s.job.PendingDeps)))
		return
	}
	s.say("why.waits", "what", s.enumerate(waits))
	if len(stuck) > 0 {
		s.say("why.stuck", "jobs", s.enumerate(stuck))
	}
}

func (s *sentences) scheduled() {
	at := s.job.RunAt
	switch {
	case s.lastReason() == "snoozed":
		s.say("why.snoozed", "at", at)
	case s.lastReason() == "unknown kind":
		s.say("why.unknown-kind", "kind", s.job.Kind, "at", at)
	case s.job.Attempt > 0:
		s.say("why.retries", "at", at, "n", s.job.Attempt+1, "max", s.job.MaxAttempts)
	case s.job.LimitKey != "" && s.why.Limit != nil && s.why.Limit.Reserved > 0:
		s.say("why.reserved", "key", s.limitLink(), "at", at)
	default:
		s.say("why.scheduled", "at", at)
	}
	s.place()
}

func (s *sentences) throttled() {
	limit := s.why.Limit
	switch {
	case limit == nil:
		s.say("why.throttled", "key", s.limitLink())
	case limit.Max > 0 && limit.Active >= limit.Max:
		s.say("why.full", "key", s.limitLink(), "active", limit.Active, "max", limit.Max)
	case limit.Rate > 0:
		s.say("why.rated", "key", s.limitLink(), "rule", s.rule(limit))
	default:
		s.say("why.throttled", "key", s.limitLink())
	}
	s.turn("why.turn")
	if !s.why.ExpectedAt.IsZero() {
		s.say("why.expected", "at", s.why.ExpectedAt)
	}
	s.place()
}

func (s *sentences) enqueued() {
	if !s.place() {
		return
	}
	s.say("why.enqueued", "queue", s.queueLink())
	s.turn("why.ahead")
}

// turn says how many jobs come before it.
func (s *sentences) turn(key string) {
	switch {
	case s.job.Why == nil:
	case s.why.AheadCapped:
		s.all = append(s.all, s.counted(key+"-more", int64(s.why.Ahead)))
	case s.why.Ahead == 0:
		s.say(key + "-first")
	default:
		s.all = append(s.all, s.counted(key, int64(s.why.Ahead)))
	}
}

// place says what is wrong with the job's queue, and reports whether nothing is.
func (s *sentences) place() bool {
	fine := true
	if s.why.Paused {
		s.say("why.paused", "queue", s.queueLink(), "at", s.why.PausedAt)
		fine = false
	}
	switch {
	case !s.why.QueueServed:
		s.say("why.unserved", "queue", s.queueLink())
		fine = false
	case !s.why.KindServed:
		s.say("why.unhandled", "queue", s.queueLink(), "kind", s.job.Kind)
		fine = false
	}
	return fine
}

func (s *sentences) processing(p *pages) {
	s.say("why.processing", "server", s.job.Server, "at", s.job.AttemptedAt, "n", s.job.Attempt, "max", s.job.MaxAttempts)
	if s.job.CancelRequested {
		s.say("why.canceling")
	}
	if s.job.Why == nil {
		return
	}
	switch beat := s.why.HeartbeatAt; {
	case beat.IsZero():
		s.say("why.server-gone")
	case s.why.At.Sub(beat) > driver.SilentAfter:
		s.say("why.server-silent", "d", s.relative(beat, p.now()))
	}
}

func (s *sentences) failed() {
	s.say("why.failed", "reason", s.reason(s.lastReason()), "at", s.job.FinalizedAt, "n", s.job.Attempt, "max", s.job.MaxAttempts)
	if n := len(s.job.Children); n > 0 {
		s.all = append(s.all, s.counted("why.children", int64(n)))
	}
}

func (s *sentences) ended() {
	switch {
	case s.job.State == driver.Succeeded && !s.job.AttemptedAt.IsZero():
		s.say("why.succeeded", "at", s.job.FinalizedAt, "took", s.duration(s.job.FinalizedAt.Sub(s.job.AttemptedAt)))
	case s.job.State == driver.Succeeded:
		s.say("why.succeeded-then", "at", s.job.FinalizedAt)
	default:
		s.say("why.deleted", "at", s.job.FinalizedAt, "reason", s.reason(s.lastReason()))
	}
}

func (s *sentences) lastReason() string {
	if n := len(s.job.History); n > 0 {
		return s.job.History[n-1].Reason
	}
	return ""
}

func (s *sentences) jobLink(id int64, title string) piece {
	text := s.text("job.name", "id", plain(id))
	if title != "" {
		text += " “" + title + "”"
	}
	return piece{Text: text, URL: s.links.path("jobs", id)}
}

func (s *sentences) queueLink() piece {
	return piece{Text: s.job.Queue, URL: s.links.list(listOf(driver.Enqueued, "queue", s.job.Queue))}
}

func (s *sentences) limitLink() piece {
	return piece{Text: s.job.LimitKey, URL: s.links.path("limits")}
}

// reason puts a reason of the history into words. Reasons that carry ids or that an application made up are shown as they are.
func (l *locale) reason(reason string) string {
	key := "reason." + strings.ReplaceAll(reason, " ", "-")
	if _, known := l.messages[key]; known {
		return l.message(key)
	}
	if parts := strings.Fields(reason); len(parts) == 3 && parts[0] == "parent" {
		if _, known := l.messages["state."+parts[2]]; known {
			return l.text("reason.parent", "id", parts[1], "state", l.message("state."+parts[2]))
		}
	}
	if reason == "" {
		return l.message("reason.none")
	}
	return reason
}
