package pgstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// numbers is a list of ids as an argument.
func numbers(from, n int) string { return "'{" + strings.Join(counting(from, n), ",") + "}'" }

func counting(from, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(from + i)
	}
	return list
}

// repeated is a list of n times the same value as an argument.
func repeatedly(value string, n int) string {
	return "'{" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "}'"
}

// hot are the statements that run all the time, or on much, each with arguments for a hundred jobs unless it says otherwise, the index
// by which it finds its rows, and the most pages that it may touch, which is about twice of what it does.
var hot = []struct {
	name, args, index string
	most              int
}{
	{"claim_lanes", "('{default,mail,rare,none}')", "ready_pkey", 100},
	{"claim", "(null, '{default}', '{0}', '{0}', null, 100, 'server')", "ready_pkey", 2500},
	{"claim", "(null, '{mail,default}', '{0,0}', '{900000,0}', '{kind1,kind2}', 100, 'server')", "ready_pkey", 2500},
	{"finish_plain", "(null, " + numbers(3299001, 100) + ", 1, 0, 'server', 100)", "lease_pkey", 800},
	{"promote", "(1000000000000, 100)", "scheduled_due", 1300},
	{"promote_next", "", "scheduled_due", 30},
	{"locate_all", "(" + numbers(999951, 100) + ")", "jobs_pkey", 4000},
	{"job_record", "(1500000)", "jobs_pkey", 50},
	{"walk_ready", "('', -2147483648, 0, 1000)", "ready_pkey", 1000},
	{"walk_queue", "('mail', 0, 100000, 1000)", "ready_pkey", 1000},
	{"walk_scheduled", "(2500000, 1000)", "scheduled_pkey", 40},
	{"walk_done", "(2, 1500000000000, 0, 100000000000000000, 1000)", "done_list", 20},
	{"delete_ready", "(" + numbers(3, 1) + ", '{0}', '{mail}', '{0}', 1)", "ready_pkey", 40},
	{"delete_scheduled", "(" + numbers(2500001, 100) + ", " + repeatedly("0", 100) + ", 1, 256)", "scheduled_pkey", 2700},
	{"delete_awaiting", "(" + numbers(3150001, 100) + ", " + repeatedly("4", 100) + ", 1)", "awaiting_pkey", 2700},
	{"requeue_failed", "(" + numbers(3250001, 100) + ", " + repeatedly("0", 100) + ", 1, 384, 2)", "failed_pkey", 3200},
	{"requeue_done", "(" + numbers(1500001, 100) + ", " + repeatedly("0", 100) + ", 1, 384, 2, 1)", "done_pkey", 3400},
	{"prune_done", "(1, 1500000000000, 100)", "done_list", 400},
	{"prune_failed", "(3250000000000, 100)", "failed_list", 400},
	{"prune_done_rows", "(" + numbers(1500001, 100) + ")", "done_pkey", 800},
	{"prune_jobs", "(" + numbers(1500001, 100) + ")", "jobs_pkey", 800},
	{"prune_history", "(" + numbers(3250001, 100) + ")", "history_pkey", 1500},
	{"prune_console", "(" + numbers(1050001, 100) + ")", "console_pkey", 1300},
	{"outputs", "(" + numbers(1050001, 100) + ", 1)", "outputs_pkey", 1400},
	{"states", "(" + numbers(1500001, 40) + ")", "done_pkey", 2200},
	{"job_runs", "(3250001)", "history_pkey", 10},
	{"last_errors", "(" + numbers(3250001, 100) + ")", "history_pkey", 1500},
	{"deadlines_passed", "(3005000000000, 100)", "deadlines_pkey", 10},
	{"recurring_due", "(100000000, 100)", "recurring_due", 10},
	{"counts", "(100000)", "scheduled_retries", 4000},
	{"ready_queues", "", "ready_pkey", 80},
	{"queue_names", "", "scheduled_queue", 8000},
	{"queue_counts", "('{default,mail,rare}', 100000)", "ready_pkey", 8000},
	{"queue_oldest", "", "ready_pkey", 2500},
	{"series", "(10000, 20000)", "stats_pkey", 2000},
	{"problems_lanes", "(1000)", "ready_pkey", 40},
	{"problems_ready", "('{default,mail,rare}', '{0,0,0}', 1000)", "ready_pkey", 2200},
	{"problems_counts", "('{default,mail,rare}', 3333)", "ready_pkey", 200},
	{"problems_keys", "(500)", "throttled_turn", 3100},
	{"problems_waiting", "('{key1,key20,key300}', 10000)", "throttled_turn", 20},
	{"problems_held", "('{key1,key20,key300}', 100)", "throttled_turn", 100},
	{"problems_kinds", "(1000)", "failed_kind", 140},
	{"problems_failures", "('{kind1,kind2}', '{3200002,3200003}', 3250000000000, 3240000000000, 10001)", "failed_kind", 800},
	{"problems_late", "(100000000, 20)", "recurring_due", 90},
	{"problems_failed_runs", "(5000, 40)", "recurring_pkey", 2100},
	{"explain_job", "(1500000)", "jobs_pkey", 50},
	{"explain_parents", "(3150001, 20)", "deps_child", 50},
	{"explain_open", "(3150001)", "deps_child", 10},
	{"explain_turn", "('key1', 0, 3090001, 1000, 64)", "throttled_turn", 30},
	{"explain_ahead", "('mail', 0, 500000, 1000)", "ready_pkey", 30},
	{"explain_limit", "('key1', 10000)", "limits_pkey", 15},
}

// TestPlans looks at the plans of all statements on large tables, and counts the pages that the hot ones touch.
func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("fills tables with three million jobs")
	}
	pool := newPool(t)
	s := openStore(t, pool, newSchema(t))
	began := time.Now()
	fillPlans(t, pool, s)
	t.Logf("filled in %s", time.Since(began).Round(100*time.Millisecond))
	p := newPlanner(t, s, planConn(t))
	checkShapes(t, p, "large tables", custom, generic)
	checkPages(t, p)
	for _, h := range hot {
		prepared, _ := p.prepare(s.texts.SQL(h.name))
		for _, mode := range []string{custom, generic} {
			tree := p.explain(prepared, h.args, mode, true)
			checkHot(t, h.name+", "+mode, &tree, h.index, h.most)
		}
	}
	checkHotPages(t, p)
	t.Logf("all of it took %s", time.Since(began).Round(100*time.Millisecond))
}

func checkHot(t *testing.T, what string, tree *plan, index string, most int) {
	t.Helper()
	if used := tree.indexes(nil); !slices.Contains(used, index) {
		t.Errorf("%s uses the indexes %v, not %s", what, used, index)
	}
	if n := tree.Hit + tree.Read; n > most || n == 0 {
		t.Errorf("%s touches %d pages, want at most %d", what, n, most)
	}
}

func (n *plan) indexes(found []string) []string {
	if n.Index != "" {
		found = append(found, n.Index)
	}
	for i := range n.Plans {
		found = n.Plans[i].indexes(found)
	}
	return found
}

// checkHotPages counts the pages that a page of each state touches, of all of it and of one queue: those of 21 jobs and of their
// rows in the tables beside, a hundred times more where a filter without an index walks, and for jobs in process, all of them.
func checkHotPages(t *testing.T, p *planner) {
	t.Helper()
	walk := 100_000
	for _, c := range []struct {
		state driver.State
		queue string
		most  int
	}{
		{driver.Awaiting, "", 400}, {driver.Awaiting, "queue3", 400}, {driver.Awaiting, "none", 10},
		{driver.Scheduled, "", 400}, {driver.Scheduled, "rare", 400}, {driver.Scheduled, "none", 10},
		{driver.Throttled, "", 400}, {driver.Throttled, "queue3", 400}, {driver.Throttled, "none", 10},
		{driver.Enqueued, "", 400}, {driver.Enqueued, "rare", 400}, {driver.Enqueued, "none", 10},
		{driver.Failed, "", 400}, {driver.Failed, "queue3", 400}, {driver.Failed, "none", 10},
		{driver.Processing, "", 400}, {driver.Processing, "queue3", 10_000},
		{driver.Succeeded, "", 400}, {driver.Succeeded, "none", walk},
		{driver.Deleted, "", 400}, {driver.Deleted, "none", walk},
	} {
		for _, cursor := range []*storekit.Cursor{nil, {Value: 1500000000000, ID: 1500000}} {
			b := newPage(driver.JobQuery{State: c.state, Queue: c.queue}, p.s.schema)
			b.cursor = cursor
			if c.state == driver.Enqueued && c.queue == "" {
				b.build([]string{"default", "mail", "rare"})
			} else {
				b.build(nil)
			}
			prepared, _ := p.prepare(b.text(b.arg(int64(b.limit+1), "bigint")))
			tree := p.explain(prepared, literals(b.args), custom, true)
			if n := tree.Hit + tree.Read; n > c.most {
				t.Errorf("the page of %s jobs of queue %q behind %v touches %d pages, want at most %d", c.state, c.queue, cursor, n, c.most)
			}
		}
	}
}
