package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

// chunk is how many jobs one transaction enqueues.
const chunk = 500

// run does one start of the program.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	unlock, err := lock(o.db + lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	db, err := sql.Open("sqlite", dsn(o.db))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(4)
	store, err := sqlitestore.New(ctx, db)
	if err != nil {
		return fmt.Errorf("%s: %w", o.db, err)
	}
	defer store.Close()
	client := kiln.NewClient(store)
	if err := forget(ctx, store); err != nil {
		return err
	}
	checksums := func(ctx context.Context) error { return checksumAll(ctx, client, o, stdout, stderr) }
	if o.serve != "" {
		return serve(ctx, client, o, stdout, checksums)
	}
	return checksums(ctx)
}

// checksumAll enqueues what is new below the folder, runs what is left to do, and writes the report.
func checksumAll(ctx context.Context, client *kiln.Client, o options, stdout, stderr io.Writer) error {
	begin := time.Now()
	expected, err := enqueue(ctx, client, o, stderr)
	if err != nil {
		return interrupted(ctx, err)
	}
	results, err := work(ctx, client, o, expected, stdout)
	if err != nil {
		return interrupted(ctx, err)
	}
	total, err := writeReport(ctx, client, o.report, results)
	if err != nil {
		return interrupted(ctx, err)
	}
	_, err = fmt.Fprintf(stdout, "%d files: %d succeeded, %d failed, in %s\n",
		total.files, total.succeeded, total.failed, time.Since(begin).Round(time.Millisecond))
	return err
}

// dsn names the file to the driver, whatever characters its path has.
func dsn(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(5000)"
}

var errInterrupted = errors.New("interrupted; start it again to go on")

// interrupted says how to go on when the program was told to stop.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// forget unregisters the servers that earlier starts left behind, and sends what they were running back to the queue. The lock
// says that none of them lives, so nobody has to wait until they are given up for dead; and since it was the program that was
// killed, and not a file that killed it, the attempts are given back.
func forget(ctx context.Context, store driver.Store) error {
	servers, err := store.Servers(ctx)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if slices.Equal(s.Kinds, []string{kind}) {
			if err := store.Unregister(ctx, s.ID); err != nil {
				return err
			}
		}
	}
	// No server is silent for a century: only jobs whose server has no row are listed.
	const century = 100 * 365 * 24 * time.Hour
	orphans, err := store.Orphans(ctx, century, maxOrphans)
	if err != nil {
		return err
	}
	var outs []driver.Outcome
	for _, o := range orphans {
		if o.Kind == kind {
			outs = append(outs, driver.Outcome{Ref: o.Ref, State: kiln.Enqueued, Refund: true, Reason: "interrupted"})
		}
	}
	_, err = store.Finish(ctx, "quickstart", outs)
	return err
}

// maxOrphans is more than one process can have claimed.
const maxOrphans = 100_000

// known reads the jobs of a folder that the database has, by the path of their file.
func known(ctx context.Context, client *kiln.Client, folder string) (map[string]result, error) {
	out := map[string]result{}
	for _, state := range []kiln.State{kiln.Scheduled, kiln.Enqueued, kiln.Processing, kiln.Succeeded, kiln.Failed, kiln.Deleted} {
		q := kiln.JobQuery{State: state, Kind: kind, Limit: 500}
		for {
			page, err := client.List(ctx, q)
			if err != nil {
				return nil, err
			}
			for i := range page.Records {
				r, err := newResult(&page.Records[i])
				if err != nil {
					return nil, err
				}
				if r.folder == folder {
					out[r.path] = r
				}
			}
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
		}
	}
	return out, nil
}

// enqueue makes a job of every file that has none yet, and returns how many jobs the folder has then.
func enqueue(ctx context.Context, client *kiln.Client, o options, stderr io.Writer) (int, error) {
	have, err := known(ctx, client, o.folder)
	if err != nil {
		return 0, err
	}
	paths, err := files(o, stderr)
	if err != nil {
		return 0, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { _, ok := have[p]; return ok })
	for part := range slices.Chunk(paths, chunk) {
		specs := make([]kiln.Spec, len(part))
		for i, p := range part {
			specs[i].Args = newChecksumFile(o.folder, p)
		}
		if _, err := client.EnqueueMany(ctx, specs...); err != nil {
			return 0, err
		}
	}
	return len(have) + len(paths), nil
}

// work runs a server until every job of the folder has ended, and returns their results. Without a job to run it starts none.
func work(ctx context.Context, client *kiln.Client, o options, expected int, stdout io.Writer) (map[string]result, error) {
	if results, err := ended(ctx, client, o.folder, expected); results != nil || err != nil {
		return results, err
	}
	server, err := newServer(client, o)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(running) }()
	results, waited := wait(ctx, client, o.folder, expected, newProgress(stdout))
	stop()
	return results, errors.Join(waited, <-stopped)
}

func newServer(client *kiln.Client, o options) (*kiln.Server, error) {
	mux := kiln.NewMux()
	kiln.Handle(mux, checksumFile, retries)
	return kiln.NewServer(client, mux, kiln.ServerConfig{
		Queues: map[string]int{kiln.DefaultQueue: o.workers},
		// The results are the program's memory of what it has done.
		Retention: kiln.Retention{Succeeded: kiln.Forever, Deleted: kiln.Forever},
	})
}

// wait returns the results when every job of the folder has ended.
func wait(ctx context.Context, client *kiln.Client, folder string, expected int, p *progress) (map[string]result, error) {
	defer p.end()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if results, err := ended(ctx, client, folder, expected); results != nil || err != nil {
			return results, err
		}
		if err := p.show(ctx, client); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// ended returns the results of the folder's jobs once all have ended, and nil before. A job that moves from state to state
// can slip through between two lists, so only seeing each one in a state that it cannot leave is proof.
func ended(ctx context.Context, client *kiln.Client, folder string, expected int) (map[string]result, error) {
	for _, state := range []kiln.State{kiln.Enqueued, kiln.Processing, kiln.Scheduled} {
		page, err := client.List(ctx, kiln.JobQuery{State: state, Kind: kind, Limit: 1})
		if err != nil || len(page.Records) > 0 || page.Next != "" {
			return nil, err
		}
	}
	results, err := known(ctx, client, folder)
	if err != nil || len(results) < expected {
		return nil, err
	}
	for _, r := range results {
		if !r.state.Final() {
			return nil, nil
		}
	}
	return results, nil
}
