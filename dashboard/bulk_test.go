package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// bulkRig has failed jobs that differ in one filter each.
func bulkRig(t *testing.T, change ...func(*Options)) (g *apiRig, ids map[string]int64) {
	t.Helper()
	g = newAPIRig(t, nil, change...)
	batch, err := g.mem.OpenBatch(context.Background(), driver.NewBatch{})
	g.must(err)
	same := driver.InsertParams{Queue: "mail", Kind: "send", BatchID: batch, Tags: []string{"eu", "slow"}}
	ids = make(map[string]int64)
	for name, change := range map[string]func(*driver.InsertParams){
		"match":  func(*driver.InsertParams) {},
		"match2": func(p *driver.InsertParams) { p.Tags = []string{"eu"} },
		"queue":  func(p *driver.InsertParams) { p.Queue = "other" },
		"kind":   func(p *driver.InsertParams) { p.Kind = "other" },
		"batch":  func(p *driver.InsertParams) { p.BatchID = 0 },
		"tag":    func(p *driver.InsertParams) { p.Tags = []string{"EU"} },
	} {
		p := same
		change(&p)
		ids[name] = g.failed(p)
	}
	return g, ids
}

// Each filter keeps out the job that differs in it, for forms and for JSON.
func TestBulkCarriesEveryFilter(t *testing.T) {
	forms := map[string]string{"/jobs/delete": "all=1&state=failed&queue=mail&kind=send&batch=1&tag=eu"}
	forms["/api/jobs/delete"] = `{"state":"failed","queue":"mail","kind":"send","batch":1,"tag":"eu"}`
	for path, body := range forms {
		g, ids := bulkRig(t)
		g.do(http.MethodPost, path, body)
		for name, id := range ids {
			want := driver.Failed
			if strings.HasPrefix(name, "match") {
				want = driver.Deleted
			}
			if got := g.state(id); got != want {
				t.Errorf("%s: the job that differs in %s is %s, want %s", path, name, got, want)
			}
		}
	}
}

// Each filter by itself reaches exactly the jobs that have it.
func TestBulkByOneFilter(t *testing.T) {
	for name, value := range map[string]string{"queue": "mail", "kind": "send", "batch": "1", "tag": "eu"} {
		g, ids := bulkRig(t)
		where := g.want(http.StatusSeeOther, http.MethodPost, "/jobs/requeue", "all=1&state=failed&"+name+"="+value).Header().Get("Location")
		if want := "/jobs/failed?" + (url.Values{name: {value}, "done": {"requeued"}, "n": {"5"}}).Encode(); where != want {
			t.Errorf("the form leads to %s, want %s", where, want)
		}
		for other, id := range ids {
			want := driver.Enqueued
			if other == name {
				want = driver.Failed
			}
			if got := g.state(id); got != want {
				t.Errorf("by %s: the job that differs in %s is %s, want %s", name, other, got, want)
			}
		}
	}
}

func TestBulkByIDs(t *testing.T) {
	g, ids := bulkRig(t)
	w := g.want(http.StatusOK, http.MethodPost, "/api/jobs/requeue", fmt.Sprintf(`{"ids":[%d,%d,999]}`, ids["match"], ids["tag"]))
	if got := strings.TrimSpace(w.Body.String()); got != `{"count":2}` {
		t.Errorf("answer %s", got)
	}
	where := g.want(http.StatusSeeOther, http.MethodPost, "/jobs/delete", fmt.Sprintf("id=%d&id=%d&back=retries", ids["kind"], ids["queue"])).Header().Get("Location")
	if where != "/retries?done=deleted&n=2" {
		t.Errorf("the form leads to %s", where)
	}
	g.wantStates(map[int64]driver.State{
		ids["match"]: driver.Enqueued, ids["tag"]: driver.Enqueued, ids["kind"]: driver.Deleted, ids["queue"]: driver.Deleted, ids["batch"]: driver.Failed,
	})
	// The state of the list goes with the ids: what has moved on since the page was made is left alone.
	where = g.want(http.StatusSeeOther, http.MethodPost, "/jobs/delete", fmt.Sprintf("id=%d&id=%d&state=failed", ids["match"], ids["batch"])).Header().Get("Location")
	if where != "/jobs/failed?done=deleted&n=1" {
		t.Errorf("the form leads to %s", where)
	}
	g.wantStates(map[int64]driver.State{ids["match"]: driver.Enqueued, ids["batch"]: driver.Deleted})
}

// Rows that are ticked besides "all" do not narrow it.
func TestBulkAllWithTickedRows(t *testing.T) {
	g, ids := bulkRig(t)
	g.want(http.StatusSeeOther, http.MethodPost, "/jobs/delete", fmt.Sprintf("id=%d&all=1&state=failed", ids["match"]))
	for name, id := range ids {
		if got := g.state(id); got != driver.Deleted {
			t.Errorf("the job %s is %s", name, got)
		}
	}
}

func TestBulkWithoutASelection(t *testing.T) {
	g, spy := newSpyRig(t)
	for body, want := range map[string]string{
		"":                                "/jobs/enqueued?done=requeued&n=0",
		"state=failed&queue=mail":         "/jobs/failed?done=requeued&n=0&queue=mail",
		"id=&all=&state=failed&tag=&cut=": "/jobs/failed?done=requeued&n=0",
		"back=retries":                    "/retries?done=requeued&n=0",
	} {
		if got := g.want(http.StatusSeeOther, http.MethodPost, "/jobs/requeue", body).Header().Get("Location"); got != want {
			t.Errorf("%q leads to %s, want %s", body, got, want)
		}
	}
	if spy.writes != 0 {
		t.Errorf("%d writes", spy.writes)
	}
}

func manyIDs(n int, format, separator string) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf(format, i+1)
	}
	return strings.Join(ids, separator)
}

// Nothing of a request that is not understood happens.
func TestBulkRefusals(t *testing.T) {
	g, spy := newSpyRig(t)
	for body, part := range map[string]string{
		``:                                    "body cannot be read",
		`{`:                                   "body cannot be read",
		`[]`:                                  "body cannot be read",
		`{}`:                                  "neither ids nor a state",
		`{"ids":[]}`:                          "neither ids nor a state",
		`{"queue":"mail"}`:                    "neither ids nor a state",
		`{"ids":[1],"tags":["eu"]}`:           "unknown field",
		`{"state":"failed","recurring":"x"}`:  "unknown field",
		`{"state":"failed","retries":true}`:   "unknown field",
		`{"ids":[1]} {"state":"failed"}`:      "behind the object",
		`{"ids":[1]} x`:                       "body cannot be read",
		`{"ids":["1"]}`:                       "body cannot be read",
		`{"ids":[0]}`:                         "ids[0] is 0",
		`{"ids":[1,-5]}`:                      "ids[1] is -5",
		`{"state":"lost"}`:                    "lost",
		`{"ids":[1],"state":"lost"}`:          "lost",
		`{"ids":[1],"batch":-1}`:              "batch is -1",
		`{"state":"failed","tag":"a\u0000b"}`: "no text",
		`{"state":"failed","batch":1.5}`:      "body cannot be read",
		`{"ids":[` + manyIDs(1001, "%d", ",") + `]}`: "1001 ids, more than 1000",
	} {
		g.wantError(http.StatusBadRequest, part, http.MethodPost, "/api/jobs/delete", body)
	}
	for body, part := range map[string]string{
		"all=1":                              "needs a state",
		"all=1&queue=mail":                   "needs a state",
		"all=yes&state=failed":               "not 1",
		"all=1&state=lost":                   "lost",
		"all=1&state=failed&kinds=mail":      "kinds",
		"all=1&state=failed&retries=1":       "retries",
		"all=1&state=failed&limit=50":        "limit",
		"all=1&state=failed&batch=x":         "batch",
		"all=1&state=failed&batch=0":         "batch",
		"all=1&state=failed&queue=a&queue=b": "2 times",
		"all=1&state=scheduled&back=retries": "select the jobs",
		"id=1&back=overview":                 "overview",
		"id=x":                               "no positive number",
		"id=0":                               "no positive number",
		"id=1&id=-1":                         "no positive number",
		"id=1&state=failed&tag=%00":          "no text",
		"id=%zz":                             "cannot be read",
		manyIDs(1001, "id=%d", "&"):          "1001 ids, more than 1000",
	} {
		if w := g.want(http.StatusBadRequest, http.MethodPost, "/jobs/delete", body); !strings.Contains(w.Body.String(), part) {
			t.Errorf("%.60s: %s, want %q in it", body, w.Body, part)
		}
	}
	g.want(http.StatusUnsupportedMediaType, http.MethodPost, "/jobs/delete", "id=1", func(r *http.Request) {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	})
	g.want(http.StatusBadRequest, http.MethodPost, "/jobs/delete?owner=ann", "id=1")
	g.want(http.StatusBadRequest, http.MethodPost, "/api/jobs/delete?state=%zz", `{"ids":[1]}`)
	if spy.writes != 0 {
		t.Errorf("%d writes", spy.writes)
	}
	g.want(http.StatusOK, http.MethodPost, "/api/jobs/delete", `{"ids":[`+manyIDs(1000, "%d", ",")+`]}`)
	g.want(http.StatusSeeOther, http.MethodPost, "/jobs/delete", manyIDs(1000, "id=%d", "&"))
}
