package dashboard

import (
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// cause says what a problem is, in one or two sentences.
func (p *pages) cause(l *locale, v *problemView) []phrase {
	name := piece{Text: v.Name, URL: p.about(v)}
	count := l.show(v.Count)
	if v.Capped {
		count += "+"
	}
	args := []any{"name", name, "queue", v.Queue, "count", count}
	switch v.Kind {
	case problemFailures:
		first := l.phrase("problem.failures."+l.form(v.Count), args...)
		return []phrase{first, l.trend(v)}
	case problemHeld:
		held := []phrase{l.phrase("problem.limit_held."+l.form(v.Count), args...)}
		if v.Limit != nil {
			held = append(held, l.phrase("problem.limit_use", "active", v.Limit.Active, "rule", l.rule(v.Limit)))
		}
		return held
	case problemRecurringFailed:
		return []phrase{l.phrase("problem.recurring_failed", "name", name, "job",
			piece{Text: l.text("job.name", "id", plain(v.Job)), URL: p.links.path("jobs", v.Job)})}
	case problemRecurringLate, problemSilent:
		return []phrase{l.phrase("problem."+v.Kind, args...)}
	default:
		return []phrase{l.phrase("problem."+v.Kind+"."+l.form(v.Count), args...)}
	}
}

// trend compares the failures of the last hour with those of the hour before.
func (l *locale) trend(v *problemView) phrase {
	switch {
	case v.LastHour > v.HourBefore:
		return l.phrase("trend.up", "now", v.LastHour, "before", v.HourBefore)
	case v.LastHour < v.HourBefore:
		return l.phrase("trend.down", "now", v.LastHour, "before", v.HourBefore)
	case v.LastHour == 0:
		return l.phrase("trend.none")
	default:
		return l.phrase("trend.even", "now", v.LastHour)
	}
}

// about is the address of what a problem is about.
func (p *pages) about(v *problemView) string {
	switch v.Kind {
	case problemFailures:
		return p.links.list(listOf(driver.Failed, "kind", v.Name))
	case problemUnhandled:
		q := listOf(driver.Enqueued, "kind", v.Name)
		q.Queue = v.Queue
		return p.links.list(q)
	case problemUnserved, problemWaits, problemPaused:
		return p.links.list(listOf(driver.Enqueued, "queue", v.Name))
	case problemRecurringLate, problemRecurringFailed:
		return p.links.path("recurring")
	case problemHeld:
		return p.links.path("limits")
	default:
		return p.links.path("servers")
	}
}

// rule writes what a limit allows: 5 at once, 10 per 1 s.
func (l *locale) rule(v *limitView) string {
	var parts []string
	if v.Max > 0 {
		parts = append(parts, l.plural("limit.max", int64(v.Max)))
	}
	if v.Rate > 0 {
		rate := l.text("limit.rate", "n", v.Rate, "per", l.duration(time.Duration(v.PerMS)*time.Millisecond))
		if v.Burst > 1 {
			rate += l.text("limit.burst", "n", v.Burst)
		}
		parts = append(parts, rate)
	}
	return strings.Join(parts, l.message("list.next"))
}

// scripted are the messages that the script needs, by their keys without the prefix.
func (l *locale) scripted() map[string]string {
	messages := map[string]string{}
	for key, text := range l.messages {
		if short, ok := strings.CutPrefix(key, "js."); ok {
			messages[short] = text
		}
	}
	for _, key := range []string{"time.ago", "time.ahead", "time.now", "time.ms", "time.s", "time.m", "time.h", "time.d", "number.group", "number.decimal"} {
		messages[key] = l.message(key)
	}
	for _, state := range driver.States {
		messages["state."+string(state)] = l.message("state." + string(state))
	}
	return messages
}
