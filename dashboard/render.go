package dashboard

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/dashboard/internal/wallclock"
	"github.com/kilnjobs/kiln/driver"
)

//go:embed templates/*.html
var templateFiles embed.FS

// pages holds what all pages of one handler share.
type pages struct {
	options Options
	links   links
	// sets are the templates of each language, by its tag.
	sets map[string]*template.Template
	// now is the clock against which relative times are written.
	now func() time.Time
}

func newPages(o Options) *pages {
	p := &pages{options: o, links: links{o.Prefix}, sets: map[string]*template.Template{}, now: func() time.Time { return wallclock.Now() }}
	for tag, l := range locales {
		p.sets[tag] = template.Must(template.New("").Funcs(p.functions(l)).ParseFS(templateFiles, "templates/*.html"))
	}
	return p
}

// frame is what stands around a page's own content.
type frame struct {
	Language  *locale
	Languages []*locale
	// Theme is light or dark, or empty for the system's.
	Theme string
	Site  string
	// Heading is the page's title, and Section the entry of the navigation that it belongs to.
	Heading, Section string
	CanWrite         bool
	HasLimits        bool
	Flash            string
	// Here is the address of this page, below the prefix, for what returns to it.
	Here string
	// Watch names what the page's live events are to tell of, empty for none.
	Watch string
	// Counts are for the navigation, nil when they could not be read.
	Counts *countsView
	Body   any
}

// show writes a page.
func (h *handler) show(w http.ResponseWriter, r *request, status int, name string, f frame) error {
	p := h.pages
	language := languageOf(r.Request, p.options.Language)
	f.Language, f.Languages, f.Theme = language, languages(), themeOf(r.Request)
	f.Site, f.CanWrite = p.options.Title, r.access == ReadWrite
	f.Here = here(r)
	f.Flash = flash(language, r.URL.Query())
	f.HasLimits = h.hasLimits()
	if f.Counts == nil {
		f.Counts = h.navigationCounts(r.Context())
	}
	var page bytes.Buffer
	if err := p.sets[language.Tag].ExecuteTemplate(&page, name+".html", &f); err != nil {
		return fmt.Errorf("dashboard: page %s: %w", name, err)
	}
	send(w, r, status, "text/html; charset=utf-8", page.Bytes())
	return nil
}

// hasLimits reports whether the store lists limits.
func (h *handler) hasLimits() bool {
	_, ok := h.store.(driver.LimitReader)
	return ok
}

// queueNames are the names that a filter offers: those that were read lately for other reasons, or else those that servers work on. To list
// all queues means to count their jobs, which a list of names is not worth.
func (h *handler) queueNames(ctx context.Context) []string {
	var names []string
	if queues, ok := h.cache.queues.recent(); ok {
		for _, q := range queues {
			names = append(names, q.Name)
		}
		return names
	}
	servers, err := h.store.Servers(ctx)
	if err != nil {
		return nil // a page goes on without them
	}
	for _, s := range servers {
		names = append(names, s.Queues...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// navigationCounts reads the numbers beside the navigation's entries. A page goes on without them.
func (h *handler) navigationCounts(ctx context.Context) *countsView {
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return nil
	}
	return &counts
}

// here is the address of a request below the prefix, without what was only meant for one showing.
func here(r *request) string {
	query := r.URL.Query()
	for _, once := range []string{"done", "n", "lang", "theme"} {
		query.Del(once)
	}
	path := "/"
	for i, segment := range r.segments {
		if i > 0 {
			path += "/"
		}
		path += url.PathEscape(segment)
	}
	return withQuery(path, query)
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// flash is what a form's action has done, as the address that it led to says.
func flash(l *locale, query url.Values) string {
	done := query.Get("done")
	if _, known := l.messages["done."+done+".other"]; known {
		var n int64
		if _, err := fmt.Sscan(query.Get("n"), &n); err != nil || n < 0 {
			n = 0
		}
		return l.plural("done."+done, n)
	}
	if _, known := l.messages["done."+done]; known && done != "" {
		return l.text("done."+done, "n", strings.Map(digit, query.Get("n")))
	}
	return ""
}

func digit(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}
