package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// secret stands in every part that a job has.
const secret = "s3cr3t"

// asked is one call of Redact.
type asked struct {
	kind string
	part Part
	v    string
}

// newSecretRig has a secret in every part of jobs, batches and recurring jobs. It notes what Redact is asked.
func newSecretRig(t *testing.T, redact func(kind string, part Part, v []byte) []byte) (*apiRig, func() []asked) {
	t.Helper()
	var mu sync.Mutex
	var calls []asked
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store {
		problems := driver.Problems{At: apiNoon, Failures: []driver.KindFailures{{Kind: "mail", Failed: 2, Error: secret + " error"}}}
		return &secretStore{goldenStore{fullStore: fullStore{mem, mem, mem}, problems: problems}}
	}, func(o *Options) {
		o.Redact = func(kind string, part Part, v []byte) []byte {
			mu.Lock()
			calls = append(calls, asked{kind, part, string(v)})
			mu.Unlock()
			return redact(kind, part, v)
		}
	})
	ctx := context.Background()
	batch, err := g.mem.OpenBatch(ctx, driver.NewBatch{Meta: map[string]string{"token": secret}})
	g.must(err)
	full := driver.InsertParams{
		Queue: "q", Args: []byte(`{"token":"` + secret + `"}`), Meta: map[string]string{"token": secret}, Title: secret + " title",
		Tags: []string{secret + "1", secret + "2"}, BatchID: batch,
	}
	g.insert(full, full, full)
	job := g.run("q")
	g.must(g.mem.WriteConsole(ctx, job.Ref, []string{secret + " line", "", secret + " last"}, 1))
	g.end(job, driver.Outcome{State: driver.Succeeded, Output: []byte(`"` + secret + `"`)})
	g.end(g.run("q"), driver.Outcome{State: driver.Failed, Reason: "exhausted", Error: secret + " error", Trace: secret + " trace"})
	g.must(g.mem.PutRecurring(ctx, driver.Recurring{ID: "r", Spec: "@hourly", Location: "UTC", Template: full}))
	return g, func() []asked {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(calls)
	}
}

// secretStore has a secret in the reason of every job too.
type secretStore struct{ goldenStore }

func (s *secretStore) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	x, err := s.goldenStore.Explain(ctx, id)
	x.Parents = []driver.OpenParent{{ID: 1, Kind: "mail", Title: secret + " title"}}
	return x, err
}

// secretTargets are all answers in which a part of a job can stand.
var secretTargets = []string{
	"/jobs/succeeded", "/jobs/failed", "/jobs/enqueued", "/jobs/1", "/jobs/2", "/jobs/3", "/jobs/1/logs", "/batches", "/batches/1",
	"/recurring", "/problems", "/retries", "/overview", "/limits", "/queues", "/servers", "/series",
}

// all returns the answers of the API, and of the pages that show the same.
func (g *apiRig) all(targets []string) string {
	g.t.Helper()
	var text strings.Builder
	for _, target := range targets {
		text.WriteString(g.want(http.StatusOK, http.MethodGet, "/api"+target, "").Body.String())
		switch target {
		case "/overview":
			target = "/"
		case "/series", "/problems", "/jobs/1/logs": // parts of other pages
			continue
		}
		text.WriteString(g.want(http.StatusOK, http.MethodGet, target, "").Body.String())
	}
	return text.String()
}

func TestRedactCoversEverything(t *testing.T) {
	for name, redact := range map[string]func(string, Part, []byte) []byte{
		"nil":    func(string, Part, []byte) []byte { return nil },
		"panic":  func(string, Part, []byte) []byte { panic(secret) },
		"text":   func(_ string, part Part, _ []byte) []byte { return []byte("<" + part.String() + ">") },
		"JSON":   func(string, Part, []byte) []byte { return []byte(`{"hidden":true}`) },
		"empty":  func(string, Part, []byte) []byte { return []byte{} },
		"binary": func(string, Part, []byte) []byte { return []byte{'"', 0xff, 0, '"'} },
		"in place": func(_ string, _ Part, v []byte) []byte {
			for i := range v {
				v[i] = '*'
			}
			return v
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := newSecretRig(t, redact)
			for range 2 { // what was redacted in place must not come back
				if text := g.all(secretTargets); strings.Contains(text, secret) {
					t.Errorf("the secret is in %s", text[strings.Index(text, secret)-60:])
				}
			}
		})
	}
}

// What Redact is given is its own: a store may keep what it returned.
func TestRedactIsGivenACopy(t *testing.T) {
	g := newAPIRig(t, nil, func(o *Options) {
		o.Redact = func(_ string, _ Part, v []byte) []byte { v[0] = '*'; return v }
	})
	v := []byte("value")
	if shown := g.handler.(*handler).redact("mail", PartError, v); string(shown) != "*alue" || string(v) != "value" {
		t.Errorf("shown is %q, the value %q", shown, v)
	}
}

// Without a Redact, and for parts that it does not change, everything is there: the test above looks at something.
func TestNothingIsRedactedUnasked(t *testing.T) {
	g, calls := newSecretRig(t, func(_ string, _ Part, v []byte) []byte { return v })
	text := g.all(secretTargets)
	for _, want := range []string{
		`"args":{"token":"s3cr3t"}`, `"meta":{"token":"s3cr3t"}`, `"title":"s3cr3t title"`, `"tags":["s3cr3t1","s3cr3t2"]`, `"output":"s3cr3t"`,
		`"error":"s3cr3t error"`, `"trace":"s3cr3t trace"`, `"text":"s3cr3t line"`, `"text":""`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	var parts []Part
	for _, call := range calls() {
		if call.v == "" {
			t.Errorf("Redact was asked about an empty %s", call.part)
		}
		if want := "mail"; call.kind != want && !(call.part == PartMeta && call.kind == "") && call.kind != "" {
			t.Errorf("Redact was asked about a %s of kind %q", call.part, call.kind)
		}
		if (call.part == PartTags || call.part == PartTitle || call.part == PartConsole) && strings.ContainsAny(call.v, "\n[{") {
			t.Errorf("a %s came as %q, not as plain text by itself", call.part, call.v)
		}
		parts = append(parts, call.part)
	}
	slices.Sort(parts)
	if got := slices.Compact(parts); len(got) != len(partNames) {
		t.Errorf("Redact was asked about %v only", got)
	}
}

func TestRedactedForms(t *testing.T) {
	for _, c := range []struct {
		part Part
		with []byte
		want string
		not  string
	}{
		{PartArgs, nil, `"args":null`, `"args":{`},
		{PartArgs, []byte("hidden"), `"args":"hidden"`, ""},
		{PartArgs, []byte(`{"a":1}`), `"args":{"a":1}`, ""},
		{PartArgs, []byte(`{"a":1`), `"args":"{\"a\":1"`, ""},
		{PartMeta, nil, `"id":1`, `"meta"`},
		{PartMeta, []byte(`{}`), `"meta":{}`, ""},
		{PartOutput, nil, `"id":1`, `"output"`},
		{PartOutput, []byte("gone"), `"output":"gone"`, ""},
		{PartTitle, nil, `"id":1`, `"title"`},
		{PartTags, nil, `"id":1`, `"tags"`},
		{PartTags, []byte("x"), `"tags":["x","x"]`, ""},
		{PartTitle, []byte("<b>"), `"title":"\u003cb\u003e"`, ""},
	} {
		g, _ := newSecretRig(t, func(_ string, part Part, v []byte) []byte {
			if part == c.part {
				return c.with
			}
			return v
		})
		body := g.want(http.StatusOK, http.MethodGet, "/api/jobs/1", "").Body.String()
		if !strings.Contains(body, c.want) || c.not != "" && strings.Contains(body, c.not) {
			t.Errorf("%s redacted to %q: %s", c.part, c.with, body)
		}
	}
}

// What no client would let in, but a row may hold all the same, is still JSON when it is shown.
func TestBrokenArgsAreShownAsText(t *testing.T) {
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return brokenArgs{mem} })
	id := g.insert(driver.InsertParams{})[0]
	body := g.want(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/jobs/%d", id), "").Body.String()
	if !strings.Contains(body, `"args":"{\"a\":"`) {
		t.Errorf("got %s", body)
	}
}

type brokenArgs struct{ driver.Store }

func (s brokenArgs) Job(ctx context.Context, id int64) (driver.Record, error) {
	r, err := s.Store.Job(ctx, id)
	r.Args = []byte(`{"a":`)
	return r, err
}
