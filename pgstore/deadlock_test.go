package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// crowd is many who use one store in every way at once.
type crowd struct {
	t     *testing.T
	s     *Store
	pool  *pgxpool.Pool
	db    *sql.DB
	until time.Time

	mu      sync.Mutex
	ids     []int64
	batches []int64
	did     map[string]int
	claims  []driver.Job
}

// lasting is how long a variable says that something lasts.
func lasting(t *testing.T, variable string, otherwise time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// crowdEnv is for how long the crowd is let loose, as time.ParseDuration reads it.
const crowdEnv = "KILN_POSTGRES_CROWD"

// TestNoDeadlocks lets transactions of applications, which make several calls each, meet everything that a store does: claims,
// finishes, promotions, operators, repairs. Nobody hears of a deadlock, or of any error that what they asked for does not explain,
// and in the end everything fits together. Applications take unique keys in one order, as the documentation asks them to.
func TestNoDeadlocks(t *testing.T) {
	lasts := lasting(t, crowdEnv, 6*time.Second)
	t.Parallel()
	pg := pgserver.Start(t, 0, "deadlock_timeout=1s", "log_lock_waits=on")
	pool := dial(t, pg.DSN("postgres")+"&pool_max_conns=12")
	c := &crowd{t: t, s: openAt(t, pg.DSN("postgres")), pool: pool, db: stdlib.OpenDBFromPool(pool), did: map[string]int{}}
	defer c.db.Close()
	c.until = time.Now().Add(lasts)
	var wg sync.WaitGroup
	for name, part := range map[string]struct {
		hands int
		do    func(context.Context, *rand.Rand) error
	}{
		"application transaction": {5, c.application},
		"claim":                   {2, c.claim},
		"finish":                  {2, c.finish},
		"insert":                  {2, c.insert},
		"operator":                {2, c.operate},
		"upkeep":                  {1, c.upkeep},
	} {
		for range part.hands {
			wg.Go(func() { c.act(name, part.do) })
		}
	}
	wg.Wait()
	t.Logf("done: %v; deadlocks that the server saw: %d", c.did, strings.Count(pg.Log(), "deadlock detected"))
	for name, least := range map[string]int{"application transaction": 50, "claim": 20, "finish": 20, "insert": 20, "operator": 20, "upkeep": 5} {
		if c.did[name] < least {
			t.Errorf("%s: only %d", name, c.did[name])
		}
	}
	c.settle()
}

// act repeats one part until time is up. Errors are fatal unless the crowd explains them: what one asks for another may have taken
// away.
func (c *crowd) act(name string, do func(context.Context, *rand.Rand) error) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for time.Now().Before(c.until) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err := do(ctx, random)
		cancel()
		switch {
		case err == nil, errors.Is(err, driver.ErrNotFound), errors.Is(err, driver.ErrClosed):
		case sqlState(err) == codeDeadlock:
			c.t.Errorf("%s (seed %d) is told of a deadlock: %v", name, seed, err)
			return
		default:
			c.t.Errorf("%s (seed %d): %v", name, seed, err)
			return
		}
		c.mu.Lock()
		c.did[name]++
		c.mu.Unlock()
	}
}

// pick is one of what there is, 0 if there is nothing.
func (c *crowd) pick(random *rand.Rand, from *[]int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(*from) == 0 {
		return 0
	}
	// The latest are those that others work on.
	return (*from)[len(*from)-1-random.IntN(min(60, len(*from)))]
}

func (c *crowd) keep(list *[]int64, ids ...int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, ids...)
}

// job draws a job. Its unique key is the next one in order, if it has one.
func (c *crowd) job(random *rand.Rand, key *int) driver.InsertParams {
	job := driver.InsertParams{
		Kind: "k", Queue: []string{"a", "b"}[random.IntN(2)], Args: []byte("1"), MaxAttempts: 1 + random.IntN(3), Priority: int16(random.IntN(3)),
	}
	if random.IntN(2) == 0 && *key < 12 {
		*key += 1 + random.IntN(4)
		job.UniqueKey = fmt.Appendf(nil, "u%02d", *key)
		job.UniqueReplace = random.IntN(4) == 0
	}
	if random.IntN(3) == 0 {
		job.LimitKey, job.LimitMax = fmt.Sprint("l", random.IntN(4)), 1+random.IntN(3)
		if random.IntN(2) == 0 {
			job.LimitRate, job.LimitPer, job.LimitBurst = 500, time.Second, 1+random.IntN(10)
		}
	}
	if random.IntN(4) == 0 {
		job.Delay = time.Duration(random.IntN(100)) * time.Millisecond
	}
	if random.IntN(8) == 0 {
		job.Deadline = time.Now().Add(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
	for range random.IntN(3) {
		if id := c.pick(random, &c.ids); id != 0 {
			job.Parents = append(job.Parents, driver.Parent{ID: id, On: driver.Mask(1 + random.IntN(7))})
		}
	}
	if random.IntN(4) == 0 {
		job.BatchID = c.pick(random, &c.batches)
	}
	if random.IntN(12) == 0 {
		job.AfterBatch = c.pick(random, &c.batches)
	}
	if job.AfterBatch == job.BatchID {
		job.AfterBatch = 0
	}
	return job
}

func (c *crowd) write(ctx context.Context, random *rand.Rand, w driver.Writer, key *int) (ids, batches []int64, err error) {
	switch random.IntN(6) {
	case 0:
		id, err := w.OpenBatch(ctx, driver.NewBatch{Parent: c.pick(random, &c.batches) * int64(random.IntN(2))})
		return nil, []int64{id}, err
	case 1:
		if id := c.pick(random, &c.batches); id != 0 && random.IntN(2) == 0 {
			return nil, nil, w.SealBatch(ctx, id)
		}
	}
	jobs := make([]driver.InsertParams, 1+random.IntN(4))
	for i := range jobs {
		jobs[i] = c.job(random, key)
		if i > 0 && random.IntN(3) == 0 {
			jobs[i].Parents = append(jobs[i].Parents, driver.Parent{Index: i - 1, On: driver.OnFinished})
		}
	}
	out, err := w.Insert(ctx, jobs)
	for _, in := range out {
		if !in.Duplicate {
			ids = append(ids, in.ID)
		}
	}
	return ids, nil, err
}

// application is one transaction of an application, with several calls and statements of its own between them.
func (c *crowd) application(ctx context.Context, random *rand.Rand) error {
	var w *TxWriter
	var commit, rollback func() error
	var own func() error
	if random.IntN(2) == 0 {
		tx, err := c.pool.Begin(ctx)
		if err != nil {
			return err
		}
		w, commit, rollback = c.s.Tx(tx), func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		own = func() error { _, err := tx.Exec(ctx, "select pg_sleep(0.002)"); return err }
	} else {
		tx, err := c.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		w, commit, rollback = c.s.SQLTx(tx), tx.Commit, tx.Rollback
		own = func() error { _, err := tx.ExecContext(ctx, "select pg_sleep(0.002)"); return err }
	}
	key := random.IntN(3)
	var ids, batches []int64
	for range 1 + random.IntN(4) {
		i, b, err := c.write(ctx, random, w, &key)
		if err == nil {
			err = own()
		}
		if err != nil {
			return errors.Join(err, rollback())
		}
		ids, batches = append(ids, i...), append(batches, b...)
	}
	if random.IntN(5) == 0 {
		return rollback()
	}
	if err := commit(); err != nil {
		return err
	}
	c.keep(&c.ids, ids...)
	c.keep(&c.batches, batches...)
	if random.IntN(4) == 0 {
		return nil // a process that died here tells nobody
	}
	return w.Notify(ctx)
}

// insert is a call of the store's own, or a few of them in its own transaction.
func (c *crowd) insert(ctx context.Context, random *rand.Rand) error {
	key := random.IntN(3)
	var ids, batches []int64
	var err error
	if random.IntN(2) == 0 {
		ids, batches, err = c.write(ctx, random, c.s, &key)
	} else {
		err = c.s.InTx(ctx, func(w driver.Writer) error {
			key := key
			ids, batches = nil, nil
			for range 1 + random.IntN(3) {
				i, b, err := c.write(ctx, random, w, &key)
				if err != nil {
					return err
				}
				ids, batches = append(ids, i...), append(batches, b...)
			}
			return nil
		})
	}
	if err == nil {
		c.keep(&c.ids, ids...)
		c.keep(&c.batches, batches...)
	}
	return err
}

func (c *crowd) claim(ctx context.Context, random *rand.Rand) error {
	jobs, err := c.s.Claim(ctx, driver.ClaimQuery{Queues: []string{"a", "b"}, Limit: 1 + random.IntN(20), Server: "a"})
	if len(jobs) == 0 {
		<-time.After(2 * time.Millisecond) // as a server would
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims = append(c.claims, jobs...)
	return err
}

// outcome draws what becomes of a claimed job.
func outcome(random *rand.Rand, j driver.Job) driver.Outcome {
	o := driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
	switch random.IntN(8) {
	case 0:
		o.State, o.Reason, o.Error = driver.Failed, "permanent", "x"
	case 1:
		o.State, o.Reason = driver.Deleted, "canceled"
	case 2:
		o.State, o.Reason, o.Delay = driver.Scheduled, "retry", time.Duration(random.IntN(50))*time.Millisecond
	case 3:
		o.State, o.Reason, o.Refund = driver.Enqueued, "shutdown", true
	case 4:
		o.Output = []byte(`{"a":1}`)
	}
	return o
}

func (c *crowd) finish(ctx context.Context, random *rand.Rand) error {
	c.mu.Lock()
	random.Shuffle(len(c.claims), func(i, k int) { c.claims[i], c.claims[k] = c.claims[k], c.claims[i] })
	n := min(len(c.claims), 1+random.IntN(20))
	jobs := c.claims[:n:n]
	c.claims = c.claims[n:]
	c.mu.Unlock()
	if n == 0 {
		<-time.After(2 * time.Millisecond)
		return nil
	}
	outs := make([]driver.Outcome, n)
	for i, j := range jobs {
		outs[i] = outcome(random, j)
	}
	results, err := c.s.Finish(ctx, "a", outs)
	for i, r := range results {
		switch r {
		case driver.Busy:
			c.mu.Lock()
			c.claims = append(c.claims, jobs[i])
			c.mu.Unlock()
		case driver.Rejected:
			return fmt.Errorf("the outcome %+v is rejected", outs[i])
		}
	}
	return err
}

func (c *crowd) operate(ctx context.Context, random *rand.Rand) (err error) {
	some := driver.Filter{}
	for range 1 + random.IntN(5) {
		if id := c.pick(random, &c.ids); id != 0 {
			some.IDs = append(some.IDs, id)
		}
	}
	if len(some.IDs) == 0 {
		some.State = driver.Failed
	}
	switch random.IntN(8) {
	case 0:
		_, err = c.s.Delete(ctx, some)
	case 1:
		_, err = c.s.Requeue(ctx, driver.Filter{State: driver.Failed})
	case 2:
		_, err = c.s.Delete(ctx, driver.Filter{State: []driver.State{driver.Scheduled, driver.Throttled, driver.Awaiting}[random.IntN(3)], Queue: "b"})
	case 3:
		err = c.s.PauseQueue(ctx, "b", random.IntN(2) == 0)
	case 4:
		_, err = c.s.Counts(ctx)
	default:
		_, err = c.s.Requeue(ctx, some)
	}
	return err
}

func (c *crowd) upkeep(ctx context.Context, random *rand.Rand) (err error) {
	switch random.IntN(5) {
	case 0:
		_, err = c.s.Sweep(ctx, 100)
	case 1:
		_, err = c.s.Prune(ctx, driver.PruneParams{Retention: driver.Retention{Succeeded: time.Second, Deleted: time.Second, Failed: 2 * time.Second}, Limit: 100})
	case 2:
		_, err = c.s.Heartbeat(ctx, driver.ServerInfo{ID: "a"})
	default:
		_, err = c.s.Promote(ctx, 50)
	}
	return err
}

// settle lets everything come to rest and looks at what is left.
func (c *crowd) settle() {
	ctx := context.Background()
	eventually(c.t, 30*time.Second, "end of the repairs", func() error {
		n, err := c.s.Sweep(ctx, 1000)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d rows were repaired", n)
		}
		return err
	})
	if err := c.s.Check(ctx); err != nil {
		c.t.Error(err)
	}
	if err := c.s.PauseQueue(ctx, "b", false); err != nil {
		c.t.Fatal(err)
	}
	for _, j := range c.claims {
		if _, err := c.s.Finish(ctx, "a", []driver.Outcome{{Ref: j.Ref, State: driver.Succeeded}}); err != nil {
			c.t.Fatal(err)
		}
	}
	// What can run does.
	eventually(c.t, 60*time.Second, "end of all jobs", func() error {
		if _, err := c.s.Promote(ctx, 1000); err != nil {
			return err
		}
		jobs, err := c.s.Claim(ctx, driver.ClaimQuery{Queues: []string{"a", "b"}, Limit: 1000, Server: "a"})
		if err != nil {
			return err
		}
		outs := make([]driver.Outcome, len(jobs))
		for i, j := range jobs {
			outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
		}
		if _, err := c.s.Finish(ctx, "a", outs); err != nil {
			return err
		}
		n, err := c.s.Counts(ctx)
		if err == nil && n.Enqueued+n.Scheduled+n.Throttled+n.Processing > 0 {
			err = fmt.Errorf("%+v", n)
		}
		return err
	})
	intact(c.t, c.s)
}
