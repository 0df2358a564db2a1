package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// FuzzModel runs random operations on the store that open returns and on memstore, side by side, and compares what they answer
// and, after each operation, everything that can be read. The input is the script: each byte is a choice. The store has to take
// its time from now, as with [RunClock]; it is empty when open returns it, and belongs to one input.
//
// Without -fuzz it tries a fixed set of scripts and those in the corpus of the calling test; KILN_MODEL_SCRIPTS=n tries n of them and
// KILN_MODEL_FIRST=k begins with the k-th, which gets through many more of them than fuzzing, whose instrumentation slows down databases that run
// in the process. What the contract leaves open is
// not compared: ids as such, the numbers of console lines, whether a limited job is reported throttled before it is admitted, and
// how much of a long chain of dependents one call settles: both stores are swept until nothing is left after each operation.
func FuzzModel(f *testing.F, open func(t *testing.T, now func() time.Time) driver.Store) {
	f.Helper()
	first := setting(f, "KILN_MODEL_FIRST", 0)
	for seed := range setting(f, "KILN_MODEL_SCRIPTS", modelScripts) {
		f.Add(script(first + seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) { runModel(t, input, open) })
}

// modelScripts is how many fixed scripts there are.
const modelScripts = 60

// setting reads a number from the environment.
func setting(tb testing.TB, name string, otherwise uint64) uint64 {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return n
}

// script is a random input that is the same each time.
func script(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0x6b696c6e))
	b := make([]byte, 600)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// model is one input on its way through both stores.
type model struct {
	*testing.T
	choices
	ctx   context.Context
	clock time.Time
	// sides are the reference and the store under test.
	sides [2]*side
	// jobs and batches count what was inserted; numbers below stand for ids, from 1.
	jobs, batches int
	// held are the claims that have not ended, by job number.
	held map[int]int32
	log  []string
}

// side is one of the stores, with its own ids for the numbers of the model.
type side struct {
	name    string
	s       driver.Store
	jobs    numbers
	batches numbers
}

// numbers translates between a store's ids and the model's numbers.
type numbers struct {
	ids  []int64
	byID map[int64]int
}

func (n *numbers) add(id int64) {
	if n.byID == nil {
		n.byID = map[int64]int{}
	}
	n.ids = append(n.ids, id)
	n.byID[id] = len(n.ids)
}

// cut forgets the numbers above n: what they stood for was rolled back.
func (n *numbers) cut(to int) {
	for _, id := range n.ids[to:] {
		delete(n.byID, id)
	}
	n.ids = n.ids[:to]
}

// id is the id of a number; a number that was never given out stands for an id that no store uses.
func (n *numbers) id(number int) int64 {
	if number < 1 || number > len(n.ids) {
		return 1 << 40
	}
	return n.ids[number-1]
}

// number is -1 for an id that the model does not know, so that a wrong id never passes for none.
func (n *numbers) number(id int64) int64 {
	switch k := n.byID[id]; {
	case id == 0:
		return 0
	case k == 0:
		return -1
	default:
		return int64(k)
	}
}

// choices reads an input. At its end every choice is the first.
type choices struct{ input []byte }

// pick chooses one of n, which is at most 256.
func (c *choices) pick(n int) int {
	if len(c.input) == 0 {
		return 0
	}
	b := c.input[0]
	c.input = c.input[1:]
	return int(b) % n
}

func (c *choices) one(in int) bool { return c.pick(in) == in-1 }

func choose[T any](c *choices, of ...T) T { return of[c.pick(len(of))] }

func runModel(t *testing.T, input []byte, open func(t *testing.T, now func() time.Time) driver.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := &model{T: t, choices: choices{input}, ctx: ctx, clock: newClock().now, held: map[int]int32{}}
	now := func() time.Time { return m.clock }
	reference := memstore.New(memstore.Clock(now))
	defer reference.Close()
	m.sides = [2]*side{{name: "memstore", s: reference}, {name: "the store", s: open(t, now)}}
	for len(m.choices.input) > 0 {
		m.step()
		m.sweep()
		m.compare()
		if t.Failed() {
			t.Fatalf("after these operations:\n  %s", strings.Join(m.log, "\n  "))
		}
	}
	for _, s := range m.sides {
		if c, ok := s.s.(checker); ok {
			if err := c.Check(ctx); err != nil {
				t.Errorf("%s: Check: %v\nafter these operations:\n  %s", s.name, err, strings.Join(m.log, "\n  "))
			}
		}
	}
}

// note remembers an operation for the report.
func (m *model) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// sweep lets both stores repair what a call may leave to Sweep.
func (m *model) sweep() {
	for _, s := range m.sides {
		for n, rounds := 1, 0; n > 0; rounds++ {
			var err error
			if n, err = s.s.Sweep(m.ctx, 1000); err != nil {
				m.Errorf("%s: Sweep: %v", s.name, err)
				return
			}
			if rounds == 50 {
				m.Errorf("%s: Sweep still finds something after %d calls", s.name, rounds)
				return
			}
		}
	}
}

// both makes a call on both sides and compares the answers, as kinds of errors and as values.
func (m *model) both(what string, call func(s *side) (any, error)) error {
	m.Helper()
	m.note("%s", what)
	var values [2]any
	var errs [2]error
	for i, s := range m.sides {
		values[i], errs[i] = call(s)
	}
	if a, b := sentinel(errs[0]), sentinel(errs[1]); a != b {
		m.Errorf("%s: %s returns %v, %s returns %v", what, m.sides[0].name, errs[0], m.sides[1].name, errs[1])
	} else if errs[0] == nil && !reflect.DeepEqual(values[0], values[1]) {
		m.Errorf("%s: %s answers %+v, %s answers %+v", what, m.sides[0].name, values[0], m.sides[1].name, values[1])
	}
	return errs[0]
}

// sentinel is the kind of an error.
func sentinel(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{
		driver.ErrNotFound, driver.ErrConflict, driver.ErrLost, driver.ErrClosed, driver.ErrInvalid, driver.ErrTooLarge,
		errors.ErrUnsupported,
	} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}
