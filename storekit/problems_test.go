package storekit

import (
	"reflect"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestShares(t *testing.T) {
	for _, c := range []struct{ lanes, want int }{{0, 1000}, {1, 1000}, {5, 1000}, {40, 125}, {2000, 10}, {1 << 40, 10}} {
		if got := ReadyStretch(c.lanes); got != c.want {
			t.Errorf("of %d lanes %d jobs each are looked at, want %d", c.lanes, got, c.want)
		}
	}
	if a, b := CountStretch(1), CountStretch(60); a != 10_000 || b != 500 {
		t.Errorf("one queue is counted up to %d, sixty up to %d each", a, b)
	}
	if a, b := HeldStretch(1), HeldStretch(1000); a != 10_000 || b != 50 {
		t.Errorf("one key is counted up to %d, a thousand up to %d each", a, b)
	}
}

func TestLateAndSilent(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	just := now.Add(-driver.SilentAfter)
	for _, c := range []struct {
		paused bool
		next   time.Time
		want   bool
	}{{false, just, false}, {false, just.Add(-1), true}, {true, just.Add(-time.Hour), false}, {false, time.Time{}, false}, {false, now.Add(time.Hour), false}} {
		if got := Late(c.paused, c.next, now); got != c.want {
			t.Errorf("paused %v, due at %v: late is %v", c.paused, c.next, got)
		}
	}
	for at, want := range map[time.Time]bool{now: false, just: false, just.Add(-1): true, now.Add(time.Hour): false} {
		if got := Silent(&driver.ServerInfo{HeartbeatAt: at}, now); got != want {
			t.Errorf("a server heard at %v is silent: %v", at, got)
		}
	}
	if !LateBefore(now).Equal(just) {
		t.Errorf("late is what was due before %v", LateBefore(now))
	}
}

func TestServedBy(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	s := ServedBy([]driver.ServerInfo{
		{ID: "a", Queues: []string{"mail", "web"}, Kinds: []string{"send"}, HeartbeatAt: now},
		{ID: "b", Queues: []string{"mail"}, Kinds: []string{"read", ""}, HeartbeatAt: now},
		{ID: "all", Queues: []string{"any"}, HeartbeatAt: now},
		{ID: "silent", Queues: []string{"old", "mail"}, Kinds: []string{"gone"}, HeartbeatAt: now.Add(-time.Hour)},
	}, now)
	for queue, want := range map[string]bool{"mail": true, "web": true, "any": true, "old": false, "": false} {
		if s.Queue(queue) != want {
			t.Errorf("queue %q is served: %v", queue, !want)
		}
	}
	for lane, want := range map[[2]string]bool{
		{"mail", "send"}: true, {"mail", "read"}: true, {"web", "read"}: false, {"mail", "gone"}: false, {"any", "x"}: true, {"old", "gone"}: false,
	} {
		if s.Kind(lane[0], lane[1]) != want {
			t.Errorf("kind %v is handled: %v", lane, !want)
		}
	}
}

func TestQueueProblems(t *testing.T) {
	at := func(minute int) time.Time {
		return time.Unix(1_900_000_000, 0).Add(time.Duration(minute) * time.Minute)
	}
	p := driver.Problems{At: at(100)}
	servers := []driver.ServerInfo{
		{ID: "b", HeartbeatAt: at(2)}, {ID: "a", HeartbeatAt: at(2)}, {ID: "c", HeartbeatAt: at(1)},
		{ID: "live", Queues: []string{"mail", "paused"}, Kinds: []string{"send"}, HeartbeatAt: at(100)},
	}
	paused := []driver.PausedQueue{{Queue: "paused", Since: at(50)}, {Queue: "idle", Since: at(40)}}
	front := []ReadyFront{
		{"mail", "send", at(30), 9, 5, false},
		{"mail", "read", at(20), 8, 1000, true},
		{"mail", "read", at(20), 7, 1, false},
		{"web", "send", at(20), 3, 2, false},
		{"paused", "read", at(10), 1, 1, false},
	}
	QueueProblems(&p, servers, paused, front, 2)
	SetReady(&p, map[string]int64{"mail": 1006, "web": 2, "paused": 1}, 1006)
	want := driver.Problems{
		At:        at(100),
		Unserved:  []driver.ReadyQueue{{Queue: "web", Since: at(20), Job: 3, Ready: 2}},
		Unhandled: []driver.ReadyKind{{Queue: "paused", Kind: "read", Since: at(10), Job: 1, Ready: 1}, {Queue: "mail", Kind: "read", Since: at(20), Job: 7, Ready: 1001, Capped: true}},
		Oldest:    []driver.ReadyQueue{{Queue: "web", Since: at(20), Job: 3, Ready: 2}, {Queue: "mail", Since: at(20), Job: 7, Ready: 1006, Capped: true}},
		Silent:    []driver.ServerInfo{servers[2], servers[1]},
		Paused:    []driver.PausedQueue{{Queue: "idle", Since: at(40)}, {Queue: "paused", Since: at(50), Ready: 1}},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("problems are\n%+v, want\n%+v", p, want)
	}
	if names := ReadyNames(&p); !reflect.DeepEqual(names, []string{"idle", "mail", "paused", "web"}) {
		t.Errorf("queues to count are %q", names)
	}
}

func TestSortRecurring(t *testing.T) {
	at := func(minute int) time.Time {
		return time.Unix(1_900_000_000, 0).Add(time.Duration(minute) * time.Minute)
	}
	late := driver.RecurringProblem{ID: "late", Late: true, NextRunAt: at(5), FailedAt: at(1)}
	got := SortRecurring([]driver.RecurringProblem{
		{ID: "old", FailedAt: at(1)}, late, {ID: "new", FailedAt: at(9)}, late, {ID: "latest", Late: true, NextRunAt: at(2)}, {ID: "third", FailedAt: at(3)},
	}, 4)
	var ids []string
	for _, r := range got {
		ids = append(ids, r.ID)
	}
	if !reflect.DeepEqual(ids, []string{"latest", "late", "new", "third"}) {
		t.Errorf("the order is %q", ids)
	}
}

func TestSortHeldAndFailures(t *testing.T) {
	held := SortHeld([]driver.HeldKey{
		{LimitInfo: driver.LimitInfo{Key: "b", Throttled: 2}}, {LimitInfo: driver.LimitInfo{Key: "a", Throttled: 2}}, {LimitInfo: driver.LimitInfo{Key: "c", Throttled: 3}},
	}, 2)
	if len(held) != 2 || held[0].Key != "c" || held[1].Key != "a" {
		t.Errorf("keys are %+v", held)
	}
	failures := SortFailures([]driver.KindFailures{{Kind: "a", Last: time.Unix(1, 0), Newest: 1}, {Kind: "b", Last: time.Unix(2, 0), Newest: 2}, {Kind: "c", Last: time.Unix(2, 0), Newest: 3}}, 2)
	if len(failures) != 2 || failures[0].Kind != "c" || failures[1].Kind != "b" {
		t.Errorf("failures are %+v", failures)
	}
	if First([]int{}, 3) != nil || First(failures, 0) == nil {
		t.Error("First of nothing is nil, and only that")
	}
	if n := len(ProblemError(string(make([]byte, 2000)))); n != MaxProblemError {
		t.Errorf("an error is cut to %d bytes", n)
	}
}
