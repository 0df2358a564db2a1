//go:build unix

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
)

// ledger is a file to which every run of a handler writes, in lines that a kill leaves whole or out.
type ledger struct{ f *os.File }

func openLedger(dir string) (*ledger, error) {
	f, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &ledger{f}, err
}

func (l *ledger) note(what string, id int64, attempt int) {
	fmt.Fprintf(l.f, "%s %d %d %d\n", what, id, attempt, os.Getpid())
}

// line is one line of the ledger.
type line struct {
	what    string
	id      int64
	attempt int
	pid     int
}

// rig is a database with a client, and the workers on it.
type rig struct {
	t      *testing.T
	dir    string
	store  *sqlitestore.Store
	client *kiln.Client
}

func newRig(t *testing.T) *rig {
	dir := t.TempDir()
	s, shut, err := open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(context.Background()); err != nil {
			t.Errorf("the database is not consistent: %v", err)
		}
		shut()
	})
	return &rig{t: t, dir: dir, store: s, client: kiln.NewClient(s)}
}

// start runs a worker process. It is killed when the test ends, if it still runs.
func (r *rig) start(queue string, workers int) *exec.Cmd {
	r.t.Helper()
	cfg, err := json.Marshal(workerConfig{Dir: r.dir, Queue: queue, Workers: workers})
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+string(cfg))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

func (r *rig) enqueue(n int, w work, opts ...kiln.InsertOption) []int64 {
	r.t.Helper()
	specs := make([]kiln.Spec, n)
	for i := range specs {
		specs[i] = kiln.Spec{Args: w, Options: opts}
	}
	out, err := r.client.EnqueueMany(r.t.Context(), specs...)
	if err != nil {
		r.t.Fatal(err)
	}
	ids := make([]int64, n)
	for i, o := range out {
		ids[i] = o.ID
	}
	return ids
}

func (r *rig) job(id int64) kiln.Record {
	r.t.Helper()
	rec, err := r.client.Get(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

func (r *rig) counts() (succeeded, live int64) {
	r.t.Helper()
	n, err := r.store.Counts(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return n.Succeeded, n.Scheduled + n.Enqueued + n.Processing
}

// await polls until done holds.
func (r *rig) await(what string, done func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("waited %s until %s", patience, what)
		case <-tick.C:
		}
	}
}

// lines reads the ledger.
func (r *rig) lines() []line {
	r.t.Helper()
	f, err := os.Open(filepath.Join(r.dir, "ledger"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	var out []line
	for s := bufio.NewScanner(f); s.Scan(); {
		var l line
		if _, err := fmt.Sscan(s.Text(), &l.what, &l.id, &l.attempt, &l.pid); err != nil {
			r.t.Fatalf("ledger line %q: %v", s.Text(), err)
		}
		out = append(out, l)
	}
	return out
}

// wrote reports whether the ledger has a line of this kind for the job.
func (r *rig) wrote(what string, id int64) bool {
	for _, l := range r.lines() {
		if l.what == what && l.id == id {
			return true
		}
	}
	return false
}
