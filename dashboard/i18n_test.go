package dashboard

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	en, pt := locales["en"], locales["pt-BR"]
	for _, c := range []struct {
		n                           int64
		number, short, ptN, ptShort string
	}{
		{0, "0", "0", "0", "0"},
		{999, "999", "999", "999", "999"},
		{-1234, "-1,234", "-1,234", "-1.234", "-1.234"},
		{9999, "9,999", "9,999", "9.999", "9.999"},
		{10_000, "10,000", "10k", "10.000", "10k"},
		{141_349, "141,349", "141.3k", "141.349", "141,3k"},
		{999_999, "999,999", "999.9k", "999.999", "999,9k"},
		{1_234_567, "1,234,567", "1.2M", "1.234.567", "1,2M"},
		{1_000_000_000, "1,000,000,000", "1G", "1.000.000.000", "1G"},
	} {
		if got := en.number(c.n); got != c.number {
			t.Errorf("%d is %q, want %q", c.n, got, c.number)
		}
		if got := en.short(c.n); got != c.short {
			t.Errorf("%d in short is %q, want %q", c.n, got, c.short)
		}
		if got := pt.number(c.n); got != c.ptN {
			t.Errorf("pt-BR: %d is %q, want %q", c.n, got, c.ptN)
		}
		if got := pt.short(c.n); got != c.ptShort {
			t.Errorf("pt-BR: %d in short is %q, want %q", c.n, got, c.ptShort)
		}
	}
}

func TestPlurals(t *testing.T) {
	for tag, want := range map[string][3]string{"en": {"0 jobs requeued.", "1 job requeued.", "1,000 jobs requeued."}, "pt-BR": {"0 jobs reenfileirados.", "1 job reenfileirado.", "1.000 jobs reenfileirados."}} {
		for i, n := range []int64{0, 1, 1000} {
			if got := locales[tag].plural("done.requeued", n); got != want[i] {
				t.Errorf("%s: %q, want %q", tag, got, want[i])
			}
		}
	}
}

func TestDurations(t *testing.T) {
	en, pt := locales["en"], locales["pt-BR"]
	for d, want := range map[time.Duration][2]string{
		-time.Second:                  {"0 ms", "0 ms"},
		83 * time.Millisecond:         {"83 ms", "83 ms"},
		time.Second:                   {"1 s", "1 s"},
		1530 * time.Millisecond:       {"1.5 s", "1,5 s"},
		59 * time.Second:              {"59 s", "59 s"},
		61 * time.Second:              {"1 min 1 s", "1 min 1 s"},
		2 * time.Hour:                 {"2 h", "2 h"},
		50*time.Hour + 30*time.Minute: {"2 d 2 h", "2 d 2 h"},
	} {
		if got := en.duration(d); got != want[0] {
			t.Errorf("%s is %q, want %q", d, got, want[0])
		}
		if got := pt.duration(d); got != want[1] {
			t.Errorf("pt-BR: %s is %q, want %q", d, got, want[1])
		}
	}
	for d, want := range map[time.Duration]string{0: "now", 5 * time.Second: "5 s ago", -5 * time.Minute: "in 5 min", 49 * time.Hour: "2 d ago"} {
		now := time.Unix(1_700_000_000, 0)
		if got := en.relative(now.Add(-d), now); got != want {
			t.Errorf("%s before is %q, want %q", d, got, want)
		}
	}
	noon := time.Date(2026, time.March, 2, 14, 2, 10, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want [2]string
	}{{noon, [2]string{"14:02:10", "14:02:10"}}, {noon.AddDate(0, 0, 1), [2]string{"Mar 3 14:02", "3 mar 14:02"}}} {
		if got := en.clock(c.at, noon); got != c.want[0] {
			t.Errorf("%s is %q, want %q", c.at, got, c.want[0])
		}
		if got := pt.clock(c.at, noon); got != c.want[1] {
			t.Errorf("pt-BR: %s is %q, want %q", c.at, got, c.want[1])
		}
	}
}

func TestLanguageOf(t *testing.T) {
	for _, c := range []struct{ cookie, own, accept, want string }{
		{"", "", "", "en"},
		{"", "", "pt-BR,pt;q=0.9,en;q=0.8", "pt-BR"},
		{"", "", "pt", "pt-BR"},
		{"", "", "pt-PT", "pt-BR"},
		{"", "", "fr, en;q=0.1, pt;q=0.9", "pt-BR"},
		{"", "", "en;q=0.9, pt;q=0.8", "en"},
		{"", "", "pt;q=0", "en"},
		{"", "", "pt;q=x, ;;;", "en"},
		{"", "pt-BR", "en", "pt-BR"},
		{"", "tlh", "pt", "pt-BR"},
		{"en", "pt-BR", "pt", "en"},
		{"../../etc", "pt-BR", "", "pt-BR"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", c.accept)
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: languageCookie, Value: c.cookie})
		}
		if got := languageOf(r, c.own).Tag; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestChoices pins what a choice of language or theme leads to: a cookie for the prefix alone, and the same page without it.
func TestChoices(t *testing.T) {
	for _, c := range []struct{ prefix, ask, cookie, to string }{
		{"/kiln", "/kiln/jobs/failed?kind=a+b&lang=pt-BR", "kiln_lang=pt-BR; Path=/kiln; Max-Age=31536000; HttpOnly; SameSite=Lax", "/kiln/jobs/failed?kind=a+b"},
		{"", "/?lang=pt-BR", "kiln_lang=pt-BR; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax", "/"},
		{"/kiln", "/kiln/?theme=dark", "kiln_theme=dark; Path=/kiln; Max-Age=31536000; HttpOnly; SameSite=Lax", "/kiln/"},
		{"/kiln", "/kiln/queues?lang=xx", "", "/kiln/queues"},
		{"/kiln", "/kiln/queues?theme=pink&done=queue-paused&n=1", "", "/kiln/queues"},
	} {
		g := newAPIRig(t, nil, func(o *Options) { o.Prefix = c.prefix })
		w := g.do(http.MethodGet, c.ask, "")
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != c.to || w.Header().Get("Set-Cookie") != c.cookie {
			t.Errorf("%s: %d to %q with %q", c.ask, w.Code, w.Header().Get("Location"), w.Header().Get("Set-Cookie"))
		}
	}
}
