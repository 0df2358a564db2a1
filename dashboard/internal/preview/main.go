// Command preview writes every page of the dashboard, with the same invented data each time, in both languages and themes, as files to
// look at and to compare.
//
//	go run ./dashboard/internal/preview -out preview
package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/dashboard"
	"github.com/kilnjobs/kiln/dashboard/internal/wallclock"
)

// shown are the pages, by the names of their files.
var shown = []struct{ name, path string }{
	{"overview", "/"},
	{"overview-day", "/?range=24h"},
	{"jobs-enqueued", "/jobs/enqueued"},
	{"jobs-processing", "/jobs/processing"},
	{"jobs-scheduled", "/jobs/scheduled"},
	{"jobs-throttled", "/jobs/throttled"},
	{"jobs-awaiting", "/jobs/awaiting"},
	{"jobs-failed", "/jobs/failed"},
	{"jobs-filtered", "/jobs/failed?kind=charge&queue=default&tag=eur"},
	{"jobs-succeeded", "/jobs/succeeded?limit=10"},
	{"jobs-deleted", "/jobs/deleted"},
	{"jobs-none", "/jobs/failed?kind=nothing"},
	{"job-failed", "/jobs/{failed}"},
	{"job-processing", "/jobs/{processing}"},
	{"job-scheduled", "/jobs/{retries}"},
	{"job-throttled", "/jobs/{throttled}"},
	{"job-awaiting", "/jobs/{awaiting}"},
	{"job-enqueued", "/jobs/{enqueued}"},
	{"job-succeeded", "/jobs/{succeeded}"},
	{"job-deleted", "/jobs/{deleted}"},
	{"retries", "/retries"},
	{"batches", "/batches"},
	{"batch", "/batches/1"},
	{"recurring", "/recurring"},
	{"queues", "/queues"},
	{"limits", "/limits"},
	{"servers", "/servers"},
	{"done", "/jobs/failed?done=requeued&n=3"},
	{"error-404", "/jobs/999999"},
	{"error-400", "/jobs/failed?limit=0"},
}

func main() {
	out := flag.String("out", "preview", "the folder that is written")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the files, with their assets beside them.
func write(folder string) error {
	r, err := newRenderer(dashboard.ReadWrite)
	if err != nil {
		return err
	}
	for _, language := range []string{"en", "pt-BR"} {
		for _, theme := range []string{"light", "dark"} {
			for _, page := range shown {
				body := r.get(page.path, language, theme)
				name := filepath.Join(folder, fmt.Sprintf("%s.%s.%s.html", page.name, language, theme))
				if err := r.save(folder, name, body); err != nil {
					return err
				}
			}
		}
	}
	fmt.Printf("%d pages are in %s\n", 4*len(shown), folder)
	return nil
}

// renderer asks the dashboard of the play for pages.
type renderer struct {
	handler http.Handler
	jobs    map[string]string
}

func newRenderer(access dashboard.Access) (*renderer, error) {
	s, err := play()
	if err != nil {
		return nil, err
	}
	wallclock.Now = func() time.Time { return noon }
	r := &renderer{handler: dashboard.New(s.client, dashboard.Options{
		Title: "kiln", Authorize: func(*http.Request) dashboard.Access { return access },
	})}
	r.jobs, err = s.named()
	return r, err
}

// get returns a page in a language and a theme.
func (r *renderer) get(path, language, theme string) string {
	for name, id := range r.jobs {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.AddCookie(&http.Cookie{Name: "kiln_lang", Value: language})
	request.AddCookie(&http.Cookie{Name: "kiln_theme", Value: theme})
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, request)
	return answer.Body.String()
}

// save writes a page so that it shows from a file, and the assets that it names.
func (r *renderer) save(folder, name, body string) error {
	for rest := body; ; {
		_, after, found := strings.Cut(rest, `"/assets/`)
		if !found {
			break
		}
		asset, tail, _ := strings.Cut(after, `"`)
		rest = tail
		if err := os.MkdirAll(filepath.Join(folder, "assets"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "assets", asset), []byte(r.get("/assets/"+asset, "en", "light")), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(name, []byte(strings.ReplaceAll(body, `"/assets/`, `"assets/`)), 0o644)
}
