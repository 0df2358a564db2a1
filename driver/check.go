package driver

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CheckInsert checks the rules of an Insert call that need no store: names present, attempts, args, limit rule, batches, and
// the graph of index parents. The error wraps ErrInvalid and names the job's position, the field, the value and the bound.
// Names' alphabets and sizes are the client's to check. Stores call it too.
func CheckInsert(jobs []InsertParams) error {
	for i := range jobs {
		if err := checkJob(&jobs[i], i, len(jobs)); err != nil {
			return fmt.Errorf("job %d of %d: %w", i, len(jobs), err)
		}
	}
	return checkCycles(jobs)
}

// CheckFilter checks that a filter names ids or a state, and that a state given is one of the eight.
func CheckFilter(f Filter) error {
	if f.State == "" && len(f.IDs) == 0 {
		return fmt.Errorf("%w: filter needs IDs or a State", ErrInvalid)
	}
	if f.State != "" && !f.State.Valid() {
		return fmt.Errorf("%w: filter State %s is not one of the eight states", ErrInvalid, quote(string(f.State)))
	}
	return nil
}

// CheckBatch checks the rules of an OpenBatch call that need no store.
func CheckBatch(b NewBatch) error {
	if b.Parent < 0 {
		return fmt.Errorf("%w: batch Parent %d is below 0", ErrInvalid, b.Parent)
	}
	if err := checkText("batch Description", b.Description); err != nil {
		return err
	}
	return checkMeta(b.Meta)
}

func checkJob(j *InsertParams, index, total int) error {
	for _, name := range []struct{ field, value string }{{"Kind", j.Kind}, {"Queue", j.Queue}} {
		if name.value == "" {
			return fmt.Errorf("%w: %s is empty", ErrInvalid, name.field)
		}
		if err := checkText(name.field, name.value); err != nil {
			return err
		}
	}
	if err := checkText("RecurringID", j.RecurringID); err != nil {
		return err
	}
	if j.MaxAttempts < 1 {
		return fmt.Errorf("%w: MaxAttempts %d is below 1", ErrInvalid, j.MaxAttempts)
	}
	if !ValidJSON(j.Args) {
		return fmt.Errorf("%w: Args %s is not valid JSON", ErrInvalid, quote(string(j.Args)))
	}
	if err := checkMeta(j.Meta); err != nil {
		return err
	}
	if j.UniqueReplace && j.UniqueDebounce > 0 {
		return fmt.Errorf("%w: UniqueReplace and UniqueDebounce %s exclude each other", ErrInvalid, j.UniqueDebounce)
	}
	if err := checkLimit(j); err != nil {
		return err
	}
	if err := checkBatches(j); err != nil {
		return err
	}
	return checkParents(j.Parents, index, total)
}

// ValidJSON reports whether b is JSON that every store can keep: valid, and in UTF-8, which encoding/json does not insist on
// inside of strings.
func ValidJSON(b []byte) bool { return json.Valid(b) && utf8.Valid(b) }

func checkLimit(j *InsertParams) error {
	if err := checkText("LimitKey", j.LimitKey); err != nil {
		return err
	}
	for _, n := range []struct {
		field string
		value int
	}{{"LimitMax", j.LimitMax}, {"LimitRate", j.LimitRate}, {"LimitBurst", j.LimitBurst}} {
		if n.value < 0 {
			return fmt.Errorf("%w: %s %d is below 0", ErrInvalid, n.field, n.value)
		}
	}
	if j.LimitPer < 0 {
		return fmt.Errorf("%w: LimitPer %s is below 0", ErrInvalid, j.LimitPer)
	}
	switch {
	case j.LimitKey == "":
		return nil
	case j.LimitMax == 0 && j.LimitRate == 0:
		return fmt.Errorf("%w: LimitKey %s has neither LimitMax nor LimitRate", ErrInvalid, quote(j.LimitKey))
	case j.LimitRate > 0 && j.LimitPer <= 0:
		return fmt.Errorf("%w: LimitRate %d needs a LimitPer above 0", ErrInvalid, j.LimitRate)
	case j.LimitRate > 0 && j.LimitBurst < 1:
		return fmt.Errorf("%w: LimitRate %d needs a LimitBurst of at least 1", ErrInvalid, j.LimitRate)
	}
	return nil
}

func checkBatches(j *InsertParams) error {
	switch {
	case j.BatchID < 0:
		return fmt.Errorf("%w: BatchID %d is below 0", ErrInvalid, j.BatchID)
	case j.AfterBatch < 0:
		return fmt.Errorf("%w: AfterBatch %d is below 0", ErrInvalid, j.AfterBatch)
	case j.BatchID != 0 && j.BatchID == j.AfterBatch:
		return fmt.Errorf("%w: AfterBatch %d is the job's own batch", ErrInvalid, j.AfterBatch)
	}
	return nil
}

func checkParents(parents []Parent, index, total int) error {
	for _, p := range parents {
		switch {
		case p.On&OnFinished == 0:
			return fmt.Errorf("%w: parent %s has no outcome to wait for (On is %d)", ErrInvalid, p.name(), p.On)
		case p.ID < 0:
			return fmt.Errorf("%w: parent id %d is below 0", ErrInvalid, p.ID)
		case p.ID == 0 && (p.Index < 0 || p.Index >= total):
			return fmt.Errorf("%w: parent index %d is outside of 0..%d", ErrInvalid, p.Index, total-1)
		case p.ID == 0 && p.Index == index:
			return fmt.Errorf("%w: parent index %d is the job itself", ErrInvalid, p.Index)
		}
	}
	return nil
}

// name says which parent it is: an id, or an index of the call.
func (p Parent) name() string {
	if p.ID != 0 {
		return "id " + strconv.FormatInt(p.ID, 10)
	}
	return "index " + strconv.Itoa(p.Index)
}

// checkCycles looks for a cycle among the index parents with a colour search that keeps its own stack, so that a chain of
// any length costs no recursion.
func checkCycles(jobs []InsertParams) error {
	const (
		white = iota
		grey
		black
	)
	colour := make([]uint8, len(jobs))
	type frame struct{ job, next int }
	var stack []frame
	for start := range jobs {
		if colour[start] != white {
			continue
		}
		stack = append(stack[:0], frame{job: start})
		colour[start] = grey
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			parents := jobs[top.job].Parents
			if top.next == len(parents) {
				colour[top.job] = black
				stack = stack[:len(stack)-1]
				continue
			}
			p := parents[top.next]
			top.next++
			if p.ID != 0 {
				continue
			}
			switch colour[p.Index] {
			case grey:
				return fmt.Errorf("%w: the parents of job %d form a cycle through job %d", ErrInvalid, top.job, p.Index)
			case white:
				colour[p.Index] = grey
				stack = append(stack, frame{job: p.Index})
			}
		}
	}
	return nil
}

func checkMeta(meta map[string]string) error {
	for k, v := range meta {
		if k == "" {
			return fmt.Errorf("%w: Meta has an empty key", ErrInvalid)
		}
		if err := checkText("Meta key", k); err != nil {
			return err
		}
		if err := checkText("Meta value of "+quote(k), v); err != nil {
			return err
		}
	}
	return nil
}

func checkText(field, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%w: %s %s is not valid UTF-8", ErrInvalid, field, quote(value))
	}
	if strings.IndexByte(value, 0) >= 0 {
		return fmt.Errorf("%w: %s %s contains a NUL byte", ErrInvalid, field, quote(value))
	}
	return nil
}

// quote shows a value in an error, shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
