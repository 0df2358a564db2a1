package dashboard

import (
	"html/template"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// functions are what templates of one language can call.
func (p *pages) functions(l *locale) template.FuncMap {
	return template.FuncMap{
		"t": l.text, "n": l.plural, "num": l.show, "short": l.short, "reason": l.reason, "messages": l.scripted,
		"rel":   func(t time.Time) string { return l.relative(t, p.now()) },
		"when":  func(t time.Time) string { return l.clock(t, p.now()) },
		"full":  l.instant,
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"ms":    func(ms int64) string { return l.duration(time.Duration(ms) * time.Millisecond) },
		"why":   func(j *jobView) []phrase { return p.why(l, j) },
		"cause": func(v problemView) []phrase { return p.cause(l, &v) },
		"about": func(v problemView) string { return p.about(&v) },
		"rule":  func(v limitView) string { return l.rule(&v) },

		"to": p.links.to, "path": p.links.path, "asset": p.links.asset, "list": p.links.list,
		"jobs": func(state, filter, value any) string {
			return p.links.list(listOf(stateOf(state), l.show(filter), plain(value)))
		},
		"setting": setting, "batchPage": batchPageAddress,
		"limitPage": func(after string) string { return withQuery("/limits", url.Values{"after": {after}}) },

		"line":   func(j *jobView) *timeline { return lineOf(j, p.now()) },
		"middle": func(x, width int) int { return x + width/2 },
		"chart":  func(s *seriesView) *chart { return chartOf(s) },
		"bar":    func(b batchView) []stripe { return stripesOf(&b) },
		"tree":   treeOf, "first": firstLine,

		"states": func() []driver.State { return shownStates },
		"themes": func() []string { return []string{"auto", "light", "dark"} },
		"live":   func(s driver.State) bool { return s.Live() },
		"of":     func(counts map[driver.State]int64, state any) int64 { return counts[stateOf(state)] },
		"dict":   dict,
		"int64":  func(n int) int64 { return int64(n) },
		"len64":  func(list any) int64 { return int64(reflect.ValueOf(list).Len()) },
	}
}

// shownStates are the states in the order in which jobs pass through them.
var shownStates = []driver.State{
	driver.Enqueued, driver.Processing, driver.Scheduled, driver.Throttled, driver.Awaiting, driver.Failed, driver.Succeeded, driver.Deleted,
}

func stateOf(state any) driver.State {
	if s, ok := state.(driver.State); ok {
		return s
	}
	s, _ := state.(string)
	return driver.State(s)
}

// dict passes several values to a template: names and values in turn.
func dict(pairs ...any) map[string]any {
	values := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	return values
}

// setting is the address that stores a choice and leads back here.
func setting(here, name, value string) string {
	address, err := url.Parse(here)
	if err != nil {
		return here
	}
	query := address.Query()
	query.Set(name, value)
	return withQuery(address.EscapedPath(), query)
}

// batchPageAddress is a page of the list of batches, or of those nested in one.
func batchPageAddress(parent int64, cursor string) string {
	query := url.Values{}
	if parent != 0 {
		query.Set("parent", strconv.FormatInt(parent, 10))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return withQuery("/batches", query)
}
