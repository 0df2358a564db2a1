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

// enqueueFires lets each step's jobs go through the application's middleware in a goroutine of its own. Where the middleware calls
// the writer, the step stops; when all have come that far, they are written as one block, and each goes on with its own result. So
// a middleware sees one insert and its ids, whatever else is in the block, and its error keeps back that step alone.
func (s *Server) enqueueFires(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	block := &fireBlock{fires: fires, arrived: make([]bool, len(fires)), written: make(chan struct{})}
	block.waiting.Add(len(fires))
	results := make([]driver.FireResult, len(fires))
	var steps sync.WaitGroup
	for i := range fires {
		steps.Go(func() { results[i] = s.enqueueFire(ctx, block, i) })
	}
	block.waiting.Wait()
	block.write(ctx, s)
	steps.Wait()
	return results, block.err
}

func (s *Server) enqueueFire(ctx context.Context, block *fireBlock, i int) (result driver.FireResult) {
	w := &fireWriter{block: block, index: i}
	defer func() {
		if v := recover(); v != nil {
			result.Err = fmt.Errorf("kiln: enqueue middleware panicked: %v", v)
		}
		w.leave()
	}()
	if len(block.fires[i].Jobs) == 0 {
		// There is nothing to enqueue, and the schedule moves on.
		_, err := w.Insert(ctx, nil)
		return driver.FireResult{Err: err}
	}
	jobs := block.fires[i].Jobs
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
	fires []driver.Fire
	// waiting counts the steps that have neither come to the writer nor given up.
	waiting sync.WaitGroup
	// arrived are the steps that have come to the writer, each written by its own goroutine and read when none waits.
	arrived []bool
	written chan struct{}
	results []driver.FireResult
	err     error
}

// write writes the steps that have arrived.
func (b *fireBlock) write(ctx context.Context, s *Server) {
	defer close(b.written)
	b.results = make([]driver.FireResult, len(b.fires))
	var fires []driver.Fire
	var places []int
	for i, arrived := range b.arrived {
		if arrived {
			fires, places = append(fires, b.fires[i]), append(places, i)
		}
	}
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

// fireWriter is the writer that the middleware of one step gets.
type fireWriter struct {
	block    *fireBlock
	index    int
	inserted bool
	left     sync.Once
}

// leave says that the block need not wait for the step.
func (w *fireWriter) leave() { w.left.Do(w.block.waiting.Done) }

// Insert waits for the block and returns what became of the step's jobs.
func (w *fireWriter) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if w.inserted {
		return nil, fmt.Errorf("kiln: a recurring job's middleware inserts once: %w", errors.ErrUnsupported)
	}
	w.inserted = true
	w.block.fires[w.index].Jobs = jobs
	w.block.arrived[w.index] = true
	w.leave()
	<-w.block.written
	result := w.block.results[w.index]
	return result.Jobs, result.Err
}

// OpenBatch is not for recurring jobs.
func (w *fireWriter) OpenBatch(context.Context, driver.NewBatch) (int64, error) {
	return 0, fmt.Errorf("kiln: a recurring job opens no batch: %w", errors.ErrUnsupported)
}

// SealBatch is not for recurring jobs.
func (w *fireWriter) SealBatch(context.Context, int64) error {
	return fmt.Errorf("kiln: a recurring job seals no batch: %w", errors.ErrUnsupported)
}
