package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func recurringCases() []testCase {
	return []testCase{
		{name: "Put", pins: "PutRecurring stores every field and all three reads return them; the store stamps CreatedAt and UpdatedAt and gives version 1.", run: recurringPut},
		{name: "PutUpdate", pins: "A write replaces every field but CreatedAt and adds one to the version.", run: recurringPutUpdate},
		{name: "PutInvalid", pins: "A recurring job without an id, or with text that a database cannot keep, is ErrInvalid and nothing is stored.", run: recurringPutInvalid},
		{name: "PutCopies", pins: "A store keeps what it was given: neither the caller's slices and maps nor those that it returned change it later.", run: recurringPutCopies},
		{name: "CAS", pins: "A write needs the current version, and 0 for a new id; any other is ErrConflict and changes nothing.", run: recurringCAS},
		{name: "CASConcurrent", pins: "Of several that write at one version exactly one wins.", run: recurringCASConcurrent},
		{name: "Remove", pins: "RemoveRecurring removes it, its jobs stay, and the id can be created again; an unknown id is ErrNotFound.", run: recurringRemove},
		{name: "IDs", pins: "Recurring ids compare byte for byte; Recurrings lists them in byte order.", run: recurringIDs},
		{name: "Due", pins: "Due returns what is not paused and has a NextRunAt that is set and has come, and the store's time.", run: recurringDue},
		{name: "DueLimit", pins: "Due returns at most limit definitions, those that are due longest first; 0 or less counts as 1.", run: recurringDueLimit},
		{name: "Group", pins: "The group is stored, returned by all three reads, and can be changed and cleared.", run: recurringGroup},
	}
}

// everyDay is a definition that is due at next.
func everyDay(id string, next time.Time) driver.Recurring {
	return driver.Recurring{ID: id, Spec: "0 7 * * *", Location: "UTC", Template: job(), NextRunAt: next, Overlap: true}
}

func (e *env) put(r driver.Recurring) {
	e.Helper()
	e.must(e.s.PutRecurring(e.ctx, r), "PutRecurring of %q at version %d", r.ID, r.Version)
}

// definition reads a recurring job that has to exist.
func (e *env) definition(id string) driver.Recurring {
	e.Helper()
	r, err := e.s.Recurring(e.ctx, id)
	e.must(err, "Recurring(%q)", id)
	return r
}

func (e *env) definitions() []driver.Recurring {
	e.Helper()
	list, err := e.s.Recurrings(e.ctx)
	e.must(err, "Recurrings")
	return list
}

func (e *env) due(limit int) []driver.Recurring {
	e.Helper()
	before := e.now()
	list, now, err := e.s.Due(e.ctx, limit)
	e.must(err, "Due(%d)", limit)
	e.between("the time that Due returned", now, before, e.now())
	if len(list) > max(limit, 1) {
		e.Errorf("Due(%d) returned %d definitions", limit, len(list))
	}
	return list
}

func definitionIDs(list []driver.Recurring) []string {
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.ID
	}
	return ids
}

// fullDefinition has a value in every field that a store takes.
func fullDefinition(e *env) driver.Recurring {
	now := e.now()
	return driver.Recurring{
		ID: "reports:daily_7.am-A", Group: "reports", Spec: "0 7 L,15W * MON#2", Location: "America/Sao_Paulo",
		Template: driver.InsertParams{
			Kind: "report", Queue: "mail", Args: []byte(`{"at": 7, "text":"\u0000 é"}`), Meta: map[string]string{"a": "1", "b": "zwölf"},
			Tags: []string{"b", "a"}, Title: "Daily report", Priority: -7, MaxAttempts: 3, Timeout: 1500 * time.Millisecond,
			UniqueKey: []byte{0, 1, 255, 254}, UniqueFor: 90 * time.Second, LimitKey: "smtp", LimitMax: 4, LimitRate: 10, LimitPer: time.Minute, LimitBurst: 2,
		},
		Misfire: driver.MisfireSkip, Overlap: true, Paused: false,
		NextRunAt: now.Add(-time.Minute - 123*time.Microsecond), LastRunAt: now.Add(-24 * time.Hour), LastJobID: 4711,
	}
}

// sameDefinition expects two definitions to agree in everything but version and stamps.
func (e *env) sameDefinition(what string, got, want driver.Recurring) {
	e.Helper()
	eq(e, what+": ID", got.ID, want.ID)
	eq(e, what+": Group", got.Group, want.Group)
	eq(e, what+": Spec", got.Spec, want.Spec)
	eq(e, what+": Location", got.Location, want.Location)
	eq(e, what+": Misfire", got.Misfire, want.Misfire)
	eq(e, what+": Overlap", got.Overlap, want.Overlap)
	eq(e, what+": Paused", got.Paused, want.Paused)
	eq(e, what+": LastJobID", got.LastJobID, want.LastJobID)
	e.given(what+": NextRunAt", got.NextRunAt, want.NextRunAt)
	e.given(what+": LastRunAt", got.LastRunAt, want.LastRunAt)
	e.sameTemplate(what+": Template", got.Template, want.Template)
}

func (e *env) sameTemplate(what string, got, want driver.InsertParams) {
	e.Helper()
	e.sameParams(what, driver.Job{
		Kind: got.Kind, Queue: got.Queue, Args: got.Args, Meta: got.Meta, Tags: got.Tags, Title: got.Title, Priority: got.Priority,
		MaxAttempts: got.MaxAttempts, Timeout: got.Timeout, BatchID: got.BatchID, RecurringID: got.RecurringID, LimitKey: got.LimitKey,
		RunAt: got.RunAt,
	}, want)
	if !slices.Equal(got.UniqueKey, want.UniqueKey) {
		e.Errorf("%s: UniqueKey is %x, want %x", what, got.UniqueKey, want.UniqueKey)
	}
	eq(e, what+": UniqueFor", got.UniqueFor, want.UniqueFor)
	eq(e, what+": UniqueReplace", got.UniqueReplace, want.UniqueReplace)
	eq(e, what+": UniqueDebounce", got.UniqueDebounce, want.UniqueDebounce)
	eq(e, what+": LimitMax", got.LimitMax, want.LimitMax)
	eq(e, what+": LimitRate", got.LimitRate, want.LimitRate)
	eq(e, what+": LimitPer", got.LimitPer, want.LimitPer)
	eq(e, what+": LimitBurst", got.LimitBurst, want.LimitBurst)
}

func recurringPut(e *env) {
	r := fullDefinition(e)
	before := e.now()
	e.put(r)
	after := e.now()
	reads := map[string]driver.Recurring{"Recurring": e.definition(r.ID)}
	for what, list := range map[string][]driver.Recurring{"Recurrings": e.definitions(), "Due": e.due(10)} {
		if len(list) != 1 {
			e.Fatalf("%s returned %d definitions, want one", what, len(list))
		}
		reads[what] = list[0]
	}
	for what, got := range reads {
		e.sameDefinition(what, got, r)
		e.between(what+": CreatedAt", got.CreatedAt, before, after)
		e.between(what+": UpdatedAt", got.UpdatedAt, before, after)
		eq(e, what+": Version", got.Version, 1)
	}
	e.countsAre("a definition is no job", driver.Counts{})

	// The least that a definition may be.
	e.put(driver.Recurring{ID: "bare", Spec: "@hourly", Location: "UTC", Template: job()})
	got := e.definition("bare")
	e.sameDefinition("bare", got, driver.Recurring{ID: "bare", Spec: "@hourly", Location: "UTC", Template: job()})
	if !got.NextRunAt.IsZero() || !got.LastRunAt.IsZero() {
		e.Errorf("times that were not given came back as %s and %s, want zero", got.NextRunAt, got.LastRunAt)
	}
	_, err := e.s.Recurring(e.ctx, "unknown")
	e.wantErr(err, driver.ErrNotFound, "Recurring of an unknown id")
}

func recurringPutUpdate(e *env) {
	first := fullDefinition(e)
	e.put(first)
	created := e.definition(first.ID)
	e.pass(5 * time.Millisecond)
	second := driver.Recurring{
		ID: first.ID, Spec: "@daily", Location: "UTC", Template: job(withArgs(`[2]`)), Misfire: driver.MisfireAll, Paused: true,
		NextRunAt: e.now().Add(time.Hour), Version: 1,
	}
	before := e.now()
	e.put(second)
	after := e.now()
	got := e.definition(first.ID)
	e.sameDefinition("after the update", got, second)
	eq(e, "CreatedAt", got.CreatedAt, created.CreatedAt)
	e.between("UpdatedAt", got.UpdatedAt, before, after)
	eq(e, "Version", got.Version, 2)
	eq(e, "number of definitions", len(e.definitions()), 1)
}

func recurringPutInvalid(e *env) {
	for what, edit := range map[string]func(*driver.Recurring){
		"an empty ID":           func(r *driver.Recurring) { r.ID = "" },
		"a NUL in the ID":       func(r *driver.Recurring) { r.ID = "a\x00b" },
		"a broken Group":        func(r *driver.Recurring) { r.Group = "\xff" },
		"a NUL in the Spec":     func(r *driver.Recurring) { r.Spec = "\x00" },
		"a broken Location":     func(r *driver.Recurring) { r.Location = "\xc3" },
		"a version below zero ": func(r *driver.Recurring) { r.Version = -1 },
	} {
		r := everyDay("daily", time.Time{})
		edit(&r)
		e.wantErr(e.s.PutRecurring(e.ctx, r), driver.ErrInvalid, "PutRecurring with %s", what)
	}
	eq(e, "number of definitions", len(e.definitions()), 0)
}

func recurringPutCopies(e *env) {
	r := fullDefinition(e)
	e.put(r)
	want := fullDefinition(e)
	want.NextRunAt, want.LastRunAt = r.NextRunAt, r.LastRunAt
	spoil := func(p *driver.InsertParams) {
		p.Args[2], p.Tags[0], p.UniqueKey[0] = 'X', "spoiled", 9
		p.Meta["a"] = "spoiled"
	}
	spoil(&r.Template)
	e.sameDefinition("after the caller's values changed", e.definition(r.ID), want)
	for _, read := range []driver.Recurring{e.definition(r.ID), e.definitions()[0], e.due(1)[0]} {
		spoil(&read.Template)
	}
	e.sameDefinition("after returned values changed", e.definition(r.ID), want)
}

func recurringCAS(e *env) {
	r := everyDay("daily", e.now().Add(time.Hour))
	r.Version = 1
	e.wantErr(e.s.PutRecurring(e.ctx, r), driver.ErrConflict, "PutRecurring of a new id at version 1")
	r.Version = 0
	e.put(r)
	other := r
	other.Spec = "@hourly"
	for _, version := range []int64{0, 2, 3} {
		other.Version = version
		e.wantErr(e.s.PutRecurring(e.ctx, other), driver.ErrConflict, "PutRecurring at version %d of one at 1", version)
	}
	eq(e, "spec after refused writes", e.definition("daily").Spec, r.Spec)
	for version := range int64(3) {
		r.Version = version + 1
		e.put(r)
	}
	eq(e, "version after four writes", e.definition("daily").Version, 4)
	e.wantErr(e.s.PutRecurring(e.ctx, r), driver.ErrConflict, "PutRecurring at version 3 of one at 4")
}

func recurringCASConcurrent(e *env) {
	e.put(everyDay("daily", time.Time{}))
	for version := range int64(5) {
		var winners atomic.Int32
		e.together(8, func(i int) error {
			r := everyDay("daily", time.Time{})
			r.Version, r.Group = version+1, fmt.Sprint(i)
			err := e.s.PutRecurring(e.ctx, r)
			if err == nil {
				winners.Add(1)
			}
			if errors.Is(err, driver.ErrConflict) {
				err = nil
			}
			return err
		})
		eq(e, fmt.Sprintf("writers that won at version %d", version+1), winners.Load(), 1)
	}
	eq(e, "version in the end", e.definition("daily").Version, 6)
}

func recurringRemove(e *env) {
	e.wantErr(e.s.RemoveRecurring(e.ctx, "daily"), driver.ErrNotFound, "RemoveRecurring of an unknown id")
	e.put(everyDay("daily", e.now().Add(-time.Minute)))
	e.put(everyDay("other", time.Time{}))
	res := e.fire(driver.Fire{ID: "daily", Version: 1, Jobs: []driver.InsertParams{job(func(p *driver.InsertParams) { p.RecurringID = "daily" })}})
	e.must(e.s.RemoveRecurring(e.ctx, "daily"), "RemoveRecurring")
	_, err := e.s.Recurring(e.ctx, "daily")
	e.wantErr(err, driver.ErrNotFound, "Recurring of a removed id")
	eq(e, "definitions left", definitionIDs(e.definitions()), []string{"other"})
	eq(e, "the fired job's RecurringID", e.inState(res[0].ID, driver.Enqueued).RecurringID, "daily")
	e.wantErr(e.s.RemoveRecurring(e.ctx, "daily"), driver.ErrNotFound, "a second RemoveRecurring")
	_, err = e.s.Fire(e.ctx, driver.Fire{ID: "daily", Version: 2, Jobs: copies(1)})
	e.wantErr(err, driver.ErrNotFound, "Fire of a removed id")
	r := everyDay("daily", time.Time{})
	r.Version = 2
	e.wantErr(e.s.PutRecurring(e.ctx, r), driver.ErrConflict, "PutRecurring at the version of a removed one")
	r.Version = 0
	e.put(r)
	eq(e, "version of the one that was created again", e.definition("daily").Version, 1)
}

func recurringIDs(e *env) {
	for i, id := range lookalikes {
		r := everyDay(id, time.Time{})
		r.Group = fmt.Sprint(i)
		e.put(r)
	}
	for i, id := range lookalikes {
		eq(e, fmt.Sprintf("group of %q", id), e.definition(id).Group, fmt.Sprint(i))
	}
	eq(e, "ids listed", definitionIDs(e.definitions()), slices.Sorted(slices.Values(lookalikes)))
	e.must(e.s.RemoveRecurring(e.ctx, lookalikes[0]), "RemoveRecurring(%q)", lookalikes[0])
	eq(e, "definitions left", len(e.definitions()), len(lookalikes)-1)
}

func recurringDue(e *env) {
	eq(e, "due in an empty store", len(e.due(10)), 0)
	now := e.now()
	paused := everyDay("paused", now.Add(-time.Hour))
	paused.Paused = true
	e.put(paused)
	e.put(everyDay("never", time.Time{}))
	e.put(everyDay("later", now.Add(time.Hour)))
	e.put(everyDay("soon", now.Add(30*time.Millisecond)))
	e.put(everyDay("now", now))
	e.put(everyDay("past", now.Add(-time.Minute)))
	e.put(everyDay("long past", now.Add(-40*24*time.Hour)))
	ids := definitionIDs(e.due(10))
	if !slices.Contains(ids, "soon") { // it may have come meanwhile
		eq(e, "due", ids, []string{"long past", "past", "now"})
	}
	e.pass(50 * time.Millisecond)
	eq(e, "due a moment later", definitionIDs(e.due(10)), []string{"long past", "past", "now", "soon"})
	eq(e, "due when asked again: Due changes nothing", definitionIDs(e.due(10)), []string{"long past", "past", "now", "soon"})

	paused.Paused, paused.Version = false, 1
	e.put(paused)
	resumed := everyDay("past", now.Add(time.Hour))
	resumed.Version = 1
	e.put(resumed)
	eq(e, "due after one was resumed and one moved", definitionIDs(e.due(10)), []string{"long past", "paused", "now", "soon"})
}

func recurringDueLimit(e *env) {
	now := e.now()
	var ids []string
	for i := range 8 {
		id := fmt.Sprintf("job-%d", 9-i)
		ids = append(ids, id)
		e.put(everyDay(id, now.Add(time.Duration(i-10)*time.Minute)))
	}
	for _, c := range []struct{ limit, want int }{{-1, 1}, {0, 1}, {1, 1}, {3, 3}, {8, 8}, {100, 8}} {
		eq(e, fmt.Sprintf("Due(%d)", c.limit), definitionIDs(e.due(c.limit)), ids[:c.want])
	}
}

func recurringGroup(e *env) {
	r := everyDay("daily", e.now().Add(-time.Minute))
	for version, group := range []string{"reports", "Reports ", "über:1", ""} {
		r.Group, r.Version = group, int64(version)
		e.put(r)
		eq(e, "Group by Recurring", e.definition("daily").Group, group)
		eq(e, "Group by Recurrings", e.definitions()[0].Group, group)
		due := e.due(1)
		if len(due) != 1 {
			e.Fatalf("Due returned %d definitions, want one", len(due))
		}
		eq(e, "Group by Due", due[0].Group, group)
	}
	r.Group, r.Version = "kept", 4
	e.put(r)
	e.fire(driver.Fire{ID: "daily", Version: 5, NextRunAt: e.now().Add(time.Hour), Jobs: copies(1)})
	eq(e, "Group after a fire", e.definition("daily").Group, "kept")
}
