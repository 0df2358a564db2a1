package drivertest_test

import (
	"context"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// hooked is the memory store with methods that can be replaced, one by one, by wrong ones.
type hooked struct {
	*memstore.Store
	now func() time.Time
	mu  sync.Mutex // for what a mutant remembers

	insert     func(context.Context, []driver.InsertParams) ([]driver.Inserted, error)
	claim      func(context.Context, driver.ClaimQuery) ([]driver.Job, error)
	finish     func(context.Context, string, []driver.Outcome) ([]driver.Result, error)
	heartbeat  func(context.Context, driver.ServerInfo) (driver.Directives, error)
	unregister func(context.Context, string) error
	setMeta    func(context.Context, driver.Ref, map[string]string) error
	storeNow   func(context.Context) (time.Time, error)
	lead       func(context.Context, string, string, time.Duration) (time.Duration, bool, error)
	resign     func(context.Context, string, string) error
	promote    func(context.Context, int) (driver.Promoted, error)
	orphans    func(context.Context, time.Duration, int) ([]driver.Orphan, error)
	sweep      func(context.Context, int) (int, error)
	prune      func(context.Context, driver.PruneParams) (int, error)
	delete     func(context.Context, driver.Filter) (int, error)
	requeue    func(context.Context, driver.Filter) (int, error)
	pauseQueue func(context.Context, string, bool) error
	job        func(context.Context, int64) (driver.Record, error)
	jobs       func(context.Context, driver.JobQuery) (driver.Page, error)
	counts     func(context.Context) (driver.Counts, error)
	series     func(context.Context, time.Time, time.Time, time.Duration) ([]driver.Point, error)
	servers    func(context.Context) ([]driver.ServerInfo, error)
	queues     func(context.Context) ([]driver.QueueInfo, error)
	subscribe  func(context.Context, func(driver.Event)) error
	inTx       func(context.Context, func(driver.Writer) error) error
	check      func(context.Context) error

	sealBatch  func(context.Context, int64) error
	batch      func(context.Context, int64) (driver.Batch, error)
	outputs    func(context.Context, []int64) (map[int64][]byte, error)
	states     func(ctx context.Context, ids []int64) (map[int64]driver.State, error)
	runs       func(ctx context.Context, id int64) ([]driver.Run, error)
	lastErrors func(ctx context.Context, ids []int64) (map[int64]string, error)

	putRecurring func(context.Context, driver.Recurring) error
	due          func(context.Context, int) ([]driver.Recurring, time.Time, error)
	fire         func(context.Context, driver.Fire) ([]driver.Inserted, error)
	fireMany     func(context.Context, []driver.Fire) ([]driver.FireResult, error)
	writeConsole func(context.Context, driver.Ref, []string, int) error
	logs         func(context.Context, int64, int64, int) ([]driver.LogLine, error)

	problems func(context.Context, int) (driver.Problems, error)
	explain  func(context.Context, int64) (driver.Explanation, error)
}

// or is the hook, or the method when there is none.
func or[F any](set bool, hook, method F) F {
	if set {
		return hook
	}
	return method
}

func (h *hooked) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	return or(h.insert != nil, h.insert, h.Store.Insert)(ctx, jobs)
}

func (h *hooked) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	return or(h.claim != nil, h.claim, h.Store.Claim)(ctx, q)
}

func (h *hooked) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	return or(h.finish != nil, h.finish, h.Store.Finish)(ctx, server, outs)
}

func (h *hooked) Heartbeat(ctx context.Context, s driver.ServerInfo) (driver.Directives, error) {
	return or(h.heartbeat != nil, h.heartbeat, h.Store.Heartbeat)(ctx, s)
}

func (h *hooked) Unregister(ctx context.Context, server string) error {
	return or(h.unregister != nil, h.unregister, h.Store.Unregister)(ctx, server)
}

func (h *hooked) SetMeta(ctx context.Context, ref driver.Ref, meta map[string]string) error {
	return or(h.setMeta != nil, h.setMeta, h.Store.SetMeta)(ctx, ref, meta)
}

func (h *hooked) Now(ctx context.Context) (time.Time, error) {
	return or(h.storeNow != nil, h.storeNow, h.Store.Now)(ctx)
}

func (h *hooked) Lead(ctx context.Context, name, holder string, ttl time.Duration) (time.Duration, bool, error) {
	return or(h.lead != nil, h.lead, h.Store.Lead)(ctx, name, holder, ttl)
}

func (h *hooked) Resign(ctx context.Context, name, holder string) error {
	return or(h.resign != nil, h.resign, h.Store.Resign)(ctx, name, holder)
}

func (h *hooked) Promote(ctx context.Context, limit int) (driver.Promoted, error) {
	return or(h.promote != nil, h.promote, h.Store.Promote)(ctx, limit)
}

func (h *hooked) Orphans(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error) {
	return or(h.orphans != nil, h.orphans, h.Store.Orphans)(ctx, deadAfter, limit)
}

func (h *hooked) Sweep(ctx context.Context, limit int) (int, error) {
	return or(h.sweep != nil, h.sweep, h.Store.Sweep)(ctx, limit)
}

func (h *hooked) Prune(ctx context.Context, p driver.PruneParams) (int, error) {
	return or(h.prune != nil, h.prune, h.Store.Prune)(ctx, p)
}

func (h *hooked) Delete(ctx context.Context, f driver.Filter) (int, error) {
	return or(h.delete != nil, h.delete, h.Store.Delete)(ctx, f)
}

func (h *hooked) Requeue(ctx context.Context, f driver.Filter) (int, error) {
	return or(h.requeue != nil, h.requeue, h.Store.Requeue)(ctx, f)
}

func (h *hooked) PauseQueue(ctx context.Context, queue string, paused bool) error {
	return or(h.pauseQueue != nil, h.pauseQueue, h.Store.PauseQueue)(ctx, queue, paused)
}

func (h *hooked) Job(ctx context.Context, id int64) (driver.Record, error) {
	return or(h.job != nil, h.job, h.Store.Job)(ctx, id)
}

func (h *hooked) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	return or(h.jobs != nil, h.jobs, h.Store.Jobs)(ctx, q)
}

func (h *hooked) Counts(ctx context.Context) (driver.Counts, error) {
	return or(h.counts != nil, h.counts, h.Store.Counts)(ctx)
}

func (h *hooked) Series(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
	return or(h.series != nil, h.series, h.Store.Series)(ctx, from, to, step)
}

func (h *hooked) Servers(ctx context.Context) ([]driver.ServerInfo, error) {
	return or(h.servers != nil, h.servers, h.Store.Servers)(ctx)
}

func (h *hooked) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	return or(h.queues != nil, h.queues, h.Store.Queues)(ctx)
}

func (h *hooked) Subscribe(ctx context.Context, fn func(driver.Event)) error {
	return or(h.subscribe != nil, h.subscribe, h.Store.Subscribe)(ctx, fn)
}

func (h *hooked) InTx(ctx context.Context, fn func(driver.Writer) error) error {
	return or(h.inTx != nil, h.inTx, h.Store.InTx)(ctx, fn)
}

func (h *hooked) Check(ctx context.Context) error {
	return or(h.check != nil, h.check, h.Store.Check)(ctx)
}

func (h *hooked) PutRecurring(ctx context.Context, r driver.Recurring) error {
	return or(h.putRecurring != nil, h.putRecurring, h.Store.PutRecurring)(ctx, r)
}

func (h *hooked) Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
	return or(h.due != nil, h.due, h.Store.Due)(ctx, limit)
}

func (h *hooked) Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
	return or(h.fire != nil, h.fire, h.Store.Fire)(ctx, f)
}

func (h *hooked) FireMany(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	return or(h.fireMany != nil, h.fireMany, h.Store.FireMany)(ctx, fires)
}

func (h *hooked) WriteConsole(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
	return or(h.writeConsole != nil, h.writeConsole, h.Store.WriteConsole)(ctx, ref, lines, progress)
}

func (h *hooked) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	return or(h.logs != nil, h.logs, h.Store.Logs)(ctx, id, after, limit)
}

func (h *hooked) SealBatch(ctx context.Context, id int64) error {
	return or(h.sealBatch != nil, h.sealBatch, h.Store.SealBatch)(ctx, id)
}

func (h *hooked) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	return or(h.batch != nil, h.batch, h.Store.Batch)(ctx, id)
}

func (h *hooked) Outputs(ctx context.Context, ids []int64) (map[int64][]byte, error) {
	return or(h.outputs != nil, h.outputs, h.Store.Outputs)(ctx, ids)
}

func (h *hooked) States(ctx context.Context, ids []int64) (map[int64]driver.State, error) {
	return or(h.states != nil, h.states, h.Store.States)(ctx, ids)
}

func (h *hooked) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	return or(h.runs != nil, h.runs, h.Store.Runs)(ctx, id)
}

func (h *hooked) LastErrors(ctx context.Context, ids []int64) (map[int64]string, error) {
	return or(h.lastErrors != nil, h.lastErrors, h.Store.LastErrors)(ctx, ids)
}

func (h *hooked) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	return or(h.problems != nil, h.problems, h.Store.Problems)(ctx, limit)
}

func (h *hooked) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	return or(h.explain != nil, h.explain, h.Store.Explain)(ctx, id)
}
