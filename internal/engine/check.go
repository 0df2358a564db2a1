package engine

import (
	"fmt"
	"strings"
)

// Check returns what is inconsistent in the server's state, for tests and the simulator.
func (s *Server) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for i, p := range s.pools {
		if p.running < 0 || p.running > p.workers {
			return fmt.Errorf("pool %d runs %d jobs with %d workers", i, p.running, p.workers)
		}
		if p.asked < 0 {
			return fmt.Errorf("pool %d expects %d jobs from claims", i, p.asked)
		}
		total += p.running
		for _, r := range p.queue {
			if r.phase != ahead || s.table.held[r.job.ID] != r {
				return fmt.Errorf("job %d waits in pool %d in phase %d, held: %v", r.job.ID, i, r.phase, s.table.held[r.job.ID] == r)
			}
		}
	}
	if total != s.running {
		return fmt.Errorf("the pools run %d jobs, the server counts %d", total, s.running)
	}
	return s.checkOutbox()
}

func (s *Server) checkOutbox() error {
	pending, bytes := 0, 0
	seen := map[int64]int32{}
	for _, f := range s.outbox.shards {
		for _, list := range [][]entry{f.writing, f.waiting} {
			for i := range list {
				pending++
				bytes += list[i].size()
				if claim, twice := seen[list[i].out.ID]; twice && claim == list[i].out.Claim {
					return fmt.Errorf("two outcomes of job %d under claim %d wait to be written", list[i].out.ID, claim)
				}
				seen[list[i].out.ID] = list[i].out.Claim
			}
		}
	}
	pending, bytes = pending+s.outbox.held, bytes+s.outbox.heldBytes
	if pending != s.outbox.pending || bytes != s.outbox.bytes {
		return fmt.Errorf("%d outcomes of %d bytes wait, counted are %d of %d", pending, bytes, s.outbox.pending, s.outbox.bytes)
	}
	return nil
}

// Empty reports whether the server holds no job and has nothing left to write.
func (s *Server) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.table.held) == 0 && len(s.table.superseded) == 0 && s.outbox.pending == 0 && s.running == 0
}

// Describe says how the pools stand, for reports of failures.
func (s *Server) Describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i, p := range s.pools {
		fmt.Fprintf(&b, "pool %d: running %d of %d, waiting %d, asked %d, more %v", i, p.running, p.workers, len(p.queue), p.asked, p.more)
		for _, q := range p.picker.queues {
			fmt.Fprintf(&b, ", %s paused %v idle %v", q.name, q.paused, q.idle)
		}
		b.WriteString("; ")
	}
	return b.String()
}
