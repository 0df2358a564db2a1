package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// consoleEvery is the least time between two writes of what jobs say while they run.
	consoleEvery   = 250 * time.Millisecond
	consoleTimeout = 2 * time.Second
	// consoleLines and consoleLine bound what one attempt may say.
	consoleLines = 1000
	consoleLine  = 4 << 10
	// consoleCut is the line after the last.
	consoleCut = "kiln: console truncated"
	// consoleWrites is the most consoles of one write.
	consoleWrites = 500
)

// Console collects what one attempt says. It never blocks and never fails. It is safe for concurrent use.
type Console struct {
	run  *Run
	book *consoles

	lines []string
	said  int
	// progress is the last one told, -1 for none.
	progress int
	// pending says that it is on the list of those to be written, closed that nothing more is taken.
	pending, closed bool
	// ending says that the handler has ended, with the outcome that waits for the rest to be written.
	ending  bool
	outcome entry
}

// NewConsole makes a console that keeps everything in memory.
func NewConsole() *Console { return &Console{book: &consoles{}, progress: -1} }

// ConsoleOf is the console of the run whose context this is; nil when it is none, or when the store keeps no consoles.
func ConsoleOf(ctx context.Context) *Console {
	c, ok := ctx.(*runContext)
	if !ok {
		return nil
	}
	return c.run.openConsole()
}

// Add says a line. One line break at its end is dropped, and what is too long is cut. After the most lines that an attempt may say
// comes one that says so.
func (c *Console) Add(line string) {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	if c.closed || c.said > consoleLines {
		return
	}
	if c.said == consoleLines {
		line = consoleCut
	}
	c.said++
	c.lines = append(c.lines, cutLine(line))
	c.book.add(c)
}

// cutLine makes a line that every store keeps: valid UTF-8 without NUL, no longer than allowed, cut between characters.
func cutLine(line string) string {
	line = strings.TrimSuffix(line, "\n")
	line = strings.ReplaceAll(strings.ToValidUTF8(line, "\uFFFD"), "\x00", "\uFFFD")
	if len(line) <= consoleLine {
		return line
	}
	end := consoleLine
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}

// SetProgress tells a percentage, which is clamped to 0..100.
func (c *Console) SetProgress(percent int) {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	if c.closed {
		return
	}
	c.progress = min(max(percent, 0), 100)
	c.book.add(c)
}

// Kept is what a console in memory has collected: the lines, and the progress, 0 when none was told.
func (c *Console) Kept() (lines []string, progress int) {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	return append([]string(nil), c.lines...), max(c.progress, 0)
}

// consoles is the loop that writes what all running jobs of the server have said.
type consoles struct {
	s       *Server
	wake    *Signal
	keeps   bool
	failing backoff

	// mu guards all consoles of the server. It is taken with or without the server's lock, which is never taken under it.
	mu sync.Mutex
	// waiting are the consoles that have something to be written; ended counts those of them whose handlers have ended.
	waiting []*Console
	ended   int
	// nextAt is when what running jobs say may be written again.
	nextAt time.Time
}

func newConsoles(s *Server) *consoles {
	_, keeps := s.cfg.Store.(driver.Console)
	return &consoles{s: s, wake: newSignal(), keeps: keeps, failing: backoff{least: consoleEvery, most: 5 * time.Second}}
}

func (b *consoles) Name() string  { return "console" }
func (b *consoles) Wake() *Signal { return b.wake }

// add puts a console on the list. The caller holds the lock of the list.
func (b *consoles) add(c *Console) {
	if b.s == nil || c.pending {
		return
	}
	c.pending = true
	b.waiting = append(b.waiting, c)
	if len(b.waiting) == 1 {
		b.wake.Set()
	}
}

// openConsole is the run's console, made when it is first asked for.
func (r *Run) openConsole() *Console {
	b := r.server.consoles
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.keeps {
		return nil
	}
	if r.console == nil {
		r.console = &Console{run: r, book: b, progress: -1}
	}
	return r.console
}

// closing ends a run's console and reports whether its outcome has to wait until the rest is written. Then the loop passes it on.
// The caller holds the server's lock.
func (b *consoles) closing(r *Run, outcome func() entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := r.console
	if c == nil {
		return false
	}
	c.closed = true
	if !c.pending {
		return false
	}
	c.ending, c.outcome = true, outcome()
	b.ended++
	b.wake.Set()
	return true
}

// drop forgets what a console has pending, since its job is not this server's any more.
func (b *consoles) drop(r *Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := r.console; c != nil {
		c.closed, c.lines, c.progress = true, nil, -1
	}
}

func (b *consoles) Plan(now time.Time) (Call, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return nil, Never
	}
	if wait := b.nextAt.Sub(now); wait > 0 && b.ended == 0 {
		return nil, wait
	}
	all := !b.nextAt.After(now)
	if all {
		b.nextAt = now.Add(consoleEvery)
	}
	taken := b.take(all)
	writes := make([]driver.ConsoleWrite, len(taken))
	for i, c := range taken {
		writes[i] = driver.ConsoleWrite{Ref: c.run.job.Ref, Lines: c.lines, Progress: c.progress}
		c.lines, c.progress = nil, -1
	}
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, consoleTimeout)
		defer cancel()
		errs := b.write(ctx, writes)
		return func(now time.Time) time.Duration { return b.apply(now, taken, writes, errs) }
	}, 0
}

// take removes the consoles of one write from the list: those whose handlers have ended, and then the others if it is time for
// them. They stay pending until the answer is there, so that none is written by two calls at once.
func (b *consoles) take(all bool) []*Console {
	var taken, left []*Console
	for _, ending := range []bool{true, false} {
		for _, c := range b.waiting {
			switch {
			case c.ending != ending:
			case (ending || all) && len(taken) < consoleWrites:
				taken = append(taken, c)
			default:
				left = append(left, c)
			}
		}
	}
	b.waiting = left
	return taken
}

// write returns an error per console.
func (b *consoles) write(ctx context.Context, writes []driver.ConsoleWrite) []error {
	if batch, ok := b.s.cfg.Store.(driver.ConsoleBatch); ok {
		errs, err := batch.WriteConsoles(ctx, writes)
		switch {
		case err == nil && len(errs) == len(writes):
			return errs
		case err == nil:
			err = errors.New("kiln: the store answered with another number of results than there were writes")
			fallthrough
		case !errors.Is(err, errors.ErrUnsupported):
			return repeat(err, len(writes))
		}
	}
	errs := make([]error, len(writes))
	store := b.s.cfg.Store.(driver.Console)
	for i, w := range writes {
		errs[i] = store.WriteConsole(ctx, w.Ref, w.Lines, w.Progress)
		if errs[i] != nil && !errors.Is(errs[i], driver.ErrLost) {
			// The store is in trouble: the others would only wait as long.
			copy(errs[i:], repeat(errs[i], len(errs)-i))
			break
		}
	}
	return errs
}

func repeat(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// apply takes the answer in, and passes on the outcomes of the handlers that have ended.
func (b *consoles) apply(now time.Time, taken []*Console, writes []driver.ConsoleWrite, errs []error) time.Duration {
	s := b.s
	var trouble error
	for _, err := range errs {
		if err != nil && !errors.Is(err, driver.ErrLost) {
			trouble = err
		}
	}
	unsupported := errors.Is(trouble, errors.ErrUnsupported)
	if trouble != nil && !unsupported {
		s.report(now, "console", trouble)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keeps = b.keeps && !unsupported
	for i, c := range taken {
		b.settle(c, &writes[i], errs[i])
	}
	switch {
	case trouble != nil:
		b.nextAt = now.Add(s.backOff(&b.failing))
	default:
		b.failing.reset()
	}
	if len(b.waiting) == 0 {
		return Never
	}
	if b.ended > 0 {
		return 0
	}
	return max(b.nextAt.Sub(now), 0)
}

// settle takes in what became of one console's write. The caller holds both locks.
func (b *consoles) settle(c *Console, w *driver.ConsoleWrite, err error) {
	c.pending = false
	switch {
	case err != nil && (c.ending || !b.keeps || errors.Is(err, driver.ErrLost)):
		c.closed, c.lines, c.progress = true, nil, -1
	case err != nil && !mayBeWritten(err):
		c.restore(w)
	}
	if len(c.lines) > 0 || c.progress >= 0 {
		b.add(c) // said during the call, or to be tried again
		return
	}
	if c.ending {
		b.ended--
		b.s.outbox.send(c.outcome)
	}
}

// mayBeWritten reports whether a call that failed may have written all the same. Then its lines are not sent again: some that are
// missing do less harm than some that stand there twice.
func mayBeWritten(err error) bool {
	return errors.Is(err, driver.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// restore puts back what could not be written, before what was said meanwhile.
func (c *Console) restore(w *driver.ConsoleWrite) {
	c.lines = append(w.Lines, c.lines...)
	if c.progress < 0 {
		c.progress = w.Progress
	}
}
