package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kilnjobs/kiln/driver"
)

// fireAll writes steps: as one block where the store can, else one by one. The jobs go through what the application puts around
// every insert.
func (s *Server) fireAll(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	if s.cfg.Enqueue == nil {
		return s.writeFires(ctx, fires)
	}
	return s.enqueueFires(ctx, fires)
}

func (s *Server) writeFires(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	if b, ok := s.cfg.Store.(driver.BlockFirer); ok {
		results, err := b.FireMany(ctx, fires)
		if !errors.Is(err, errors.ErrUnsupported) {
			return results, err
		}
	}
	results := make([]driver.FireResult, len(fires))
	for i := range fires {
		results[i].Jobs, results[i].Err = s.cfg.Store.Fire(ctx, fires[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return results, nil
}

// middlewareTimeout is how long a block waits for the middleware of its steps.
const middlewareTimeout = callTimeout / 2

var errSlowMiddleware = fmt.Errorf("kiln: enqueue middleware did not come to an end within %s", middlewareTimeout)

// enqueueFires lets each step's jobs go through the application's middleware in a goroutine of its own. Where the middleware calls
// the writer, the step stops; when all have come that far, they are written as one block, and each goes on with its own result. So
// a middleware sees one insert and its ids, whatever else is in the block, and its error keeps back that step alone, as does one that
// never comes to an end.
func (s *Server) enqueueFires(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	block := &fireBlock{fires: fires, arrived: make([]bool, len(fires)), missing: len(fires), all: make(chan struct{}), written: make(chan struct{})}
	patient, cancel := context.WithTimeout(ctx, middlewareTimeout)
	defer cancel()
	type ended struct {
		index  int
		result driver.FireResult
	}
	ends := make(chan ended, len(fires))
	for i := range fires {
		go func() { ends <- ended{i, s.enqueueFire(patient, block, i)} }()
	}
	select {
	case <-block.all:
	case <-patient.Done():
	}
	block.write(ctx, s)
	results := block.outcome()
	for range fires {
		select {
		case e := <-ends:
			results[e.index] = e.result
		case <-patient.Done():
			// What the store said counts, where the middleware has come as far as that.
			return results, block.err
		}
	}
	return results, block.err
}

func (s *Server) enqueueFire(ctx context.Context, block *fireBlock, i int) (result driver.FireResult) {
	w := &fireWriter{block: block, index: i}
	defer func() {
		if v := recover(); v != nil {
			result = driver.FireResult{Err: fmt.Errorf("kiln: enqueue middleware panicked: %v", v)}
		}
		w.leave(false)
	}()
	jobs := block.fires[i].Jobs
	if len(jobs) == 0 {
		// There is nothing to enqueue, and the schedule moves on.
		_, err := w.Insert(ctx, nil)
		return driver.FireResult{Err: err}
	}
	out, err := s.cfg.Enqueue(ctx, w, jobs)
	switch {
	case err != nil:
		return driver.FireResult{Err: err}
	case len(out) != len(jobs):
		return driver.FireResult{Err: fmt.Errorf("kiln: enqueue of %d jobs came back with %d results", len(jobs), len(out))}
	case !w.inserted:
		// The middleware keeps the jobs to itself: the schedule moves on without them.
		if _, err := w.Insert(ctx, nil); err != nil {
			return driver.FireResult{Err: err}
		}
	}
	return driver.FireResult{Jobs: out}
}

// fireBlock is steps on their way through the middleware.
type fireBlock struct {
	mu    sync.Mutex
	fires []driver.Fire
	// arrived are the steps that have come to the writer, missing counts those that have neither done so nor given up.
	arrived []bool
	missing int
	// all is closed when none is missing, written when the block has its results; closed says that it takes no more steps.
	all, written chan struct{}
	closed       bool
	results      []driver.FireResult
	err          error
}

// write writes the steps that have arrived.
func (b *fireBlock) write(ctx context.Context, s *Server) {
	defer close(b.written)
	b.mu.Lock()
	b.closed = true
	b.results = make([]driver.FireResult, len(b.fires))
	var fires []driver.Fire
	var places []int
	for i, arrived := range b.arrived {
		if arrived {
			fires, places = append(fires, b.fires[i]), append(places, i)
		} else {
			b.results[i].Err = errSlowMiddleware
		}
	}
	b.mu.Unlock()
	if len(fires) == 0 {
		return
	}
	results, err := s.writeFires(ctx, fires)
	if err == nil && len(results) != len(fires) {
		err = fmt.Errorf("kiln: the store answered %d steps with %d results", len(fires), len(results))
	}
	b.err = err
	for k, i := range places {
		if err != nil {
			b.results[i].Err = err
		} else {
			b.results[i] = results[k]
		}
	}
}

// outcome is what the store said to each step.
func (b *fireBlock) outcome() []driver.FireResult {
	return append([]driver.FireResult(nil), b.results...)
}

// fireWriter is the writer that the middleware of one step gets.
type fireWriter struct {
	block    *fireBlock
	index    int
	inserted bool
	left     bool
}

// leave says that the block need not wait for the step any more, and whether it takes part. It is false when the block has gone
// without it.
func (w *fireWriter) leave(arrived bool) bool {
	b := w.block
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.left {
		return false
	}
	w.left = true
	if b.missing--; b.missing == 0 {
		close(b.all)
	}
	if b.closed {
		return false
	}
	b.arrived[w.index] = arrived
	return true
}

// Insert waits for the block and returns what became of the step's jobs.
func (w *fireWriter) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if w.inserted {
		return nil, fmt.Errorf("kiln: a recurring job's middleware inserts once: %w", errors.ErrUnsupported)
	}
	w.inserted = true
	w.block.set(w.index, jobs)
	if !w.leave(true) {
		return nil, errSlowMiddleware
	}
	<-w.block.written
	result := w.block.results[w.index]
	return result.Jobs, result.Err
}

// set gives a step the jobs that the middleware made of its own.
func (b *fireBlock) set(index int, jobs []driver.InsertParams) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.fires[index].Jobs = jobs
	}
}

// OpenBatch is not for recurring jobs.
func (w *fireWriter) OpenBatch(context.Context, driver.NewBatch) (int64, error) {
	return 0, fmt.Errorf("kiln: a recurring job opens no batch: %w", errors.ErrUnsupported)
}

// SealBatch is not for recurring jobs.
func (w *fireWriter) SealBatch(context.Context, int64) error {
	return fmt.Errorf("kiln: a recurring job seals no batch: %w", errors.ErrUnsupported)
}
