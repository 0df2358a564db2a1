//go:build unix

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// misdeeds are pages that do what the dashboard must never do, and the word by which it is noticed.
var misdeeds = map[string]struct{ body, notice string }{
	"console":   {`<script>console.error("out of cheese")</script>`, "out of cheese"},
	"warning":   {`<script>console.warn("low on cheese")</script>`, "low on cheese"},
	"exception": {`<script>nothing.here()</script>`, "nothing is not defined"},
	"promise":   {`<script>Promise.reject(new Error("broken promise"))</script>`, "broken promise"},
	"dialog":    {`<script>alert("boo")</script>`, `dialog: alert "boo"`},
	"inline":    {`<p style="color: red">x</p>`, "content security policy"},
	"foreign":   {`<img src="http://127.0.0.1:1/x.png">`, "content security policy"},
	"missing":   {`<img src="/missing.png">`, "404"},
}

// TestAlarm holds the alarm itself to what the other tests count on.
func TestAlarm(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bad, known := misdeeds[strings.TrimPrefix(r.URL.Path, "/")]
		switch {
		case r.URL.Path == "/good":
			bad.body = `<p>good</p>`
		case r.URL.Path == "/strange":
			bad.body = `<b onclick="steal()">x</b><a href="javascript:steal()">y</a>`
		case !known:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'self'; img-src 'self' data:")
		fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><title>x</title>%s`, bad.body)
	}))
	defer s.Close()
	p := open(t, s.URL)
	p.visit("/good")
	if heard := p.alarm.complaints(); len(heard) > 0 {
		t.Errorf("on a good page the browser complains: %q", heard)
	}
	for name, bad := range misdeeds {
		p.visit("/" + name)
		p.await("complaint about "+name, func() bool { return strings.Contains(strings.Join(p.alarm.complaints(), "\n"), bad.notice) })
	}
	p.visit("/strange")
	if bad := eval[[]string](p, strange); len(bad) != 3 {
		t.Errorf("a handler, a link that is code and the icon, which is data, are seen as %q", bad)
	}
	p.visit("/good")
	p.do("settle", chromedp.WaitReady(chromedp.CSS("p")))
	p.alarm.complaints() // what else they set off was intended
}
