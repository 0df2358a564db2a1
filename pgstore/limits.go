package pgstore

import (
	"context"
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// shift is what a call changes in the counters of a limit key, active and reserved.
type shift struct{ active, reserved int64 }

// keyTouched notes that the waiting jobs of a key have to be looked at when the call ends: jobs have come to it, its rule is new, or a
// slot is free.
func (w *work) keyTouched(key string) { w.shiftKey(key, shift{}) }

func (w *work) shiftKey(key string, by shift) {
	if w.limits == nil {
		w.limits = map[string]shift{}
	}
	sum := w.limits[key]
	w.limits[key] = shift{sum.active + by.active, sum.reserved + by.reserved}
}

// slotFreed notes that a job with a limit key has left enqueued or processing, or given up its reserved start.
func (w *work) slotFreed(l *located) {
	switch {
	case l.flags&flagLimit == 0:
	case l.state == driver.Enqueued, l.state == driver.Processing:
		w.shiftKey(l.limitKey, shift{active: -1})
	case l.state == driver.Scheduled && l.flags&flagGranted != 0:
		w.shiftKey(l.limitKey, shift{reserved: -1})
	}
}

// limited is what a draft with a limit key brings.
type limited struct {
	key  string
	rule storekit.Rule
}

func draftLimit(p *driver.InsertParams) *limited {
	if p.LimitKey == "" {
		return nil
	}
	return &limited{p.LimitKey, storekit.RuleOf(p)}
}

// setRules writes the rules that new jobs bring, the last one of each key.
func (w *work) setRules(drafts []draft) error {
	rules := map[string]storekit.Rule{}
	for i := range drafts {
		if d := &drafts[i]; d.limited != nil && !d.duplicate() {
			rules[d.limited.key] = d.limited.rule
		}
	}
	if len(rules) == 0 {
		return nil
	}
	if w.foreign {
		maps.Copy(w.arrivals.ruled(), rules)
		return nil
	}
	return w.writeRules(rules)
}

// writeRules writes rules of limit keys, whose rows are locked from then on, and touches the keys.
func (w *work) writeRules(rules map[string]storekit.Rule) error {
	keys := slices.Sorted(maps.Keys(rules))
	n := len(keys)
	most, rate, burst, per := make([]int32, n), make([]int32, n), make([]int32, n), make([]int64, n)
	for i, key := range keys {
		r := rules[key]
		most[i], rate[i], burst[i], per[i] = int32(r.Max), int32(r.Rate), int32(r.Burst), int64(r.Per)
		w.keyTouched(key)
	}
	return w.exec("limits_rule", keys, most, rate, per, burst)
}

// lockKeys locks the rows of limit keys, in an order that is the same for everybody: whoever brings jobs to a key or frees a slot of
// it and whoever admits must not miss each other.
func (w *work) lockKeys(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return w.exec("limits_lock", keys)
}

// admitTouched admits what has room now under the limit keys that the call touched.
func (w *work) admitTouched() error {
	if len(w.limits) == 0 {
		return nil
	}
	a := admission{work: w, keys: slices.Sorted(maps.Keys(w.limits)), shifts: w.limits}
	w.limits = nil
	return a.run()
}

// touchMarked touches up to limit keys that are marked.
func (w *work) touchMarked(limit int) error {
	return w.each("limits_marked", []any{int64(limit)}, func(rows rows) error {
		var key string
		err := rows.Scan(&key)
		w.keyTouched(key)
		return err
	})
}

// freeSlots gives back slots of limit keys, as many of each as jobs have left processing. A slot of a key that jobs wait for goes to the
// next one when the call ends, which changes no counter. Most keys have nobody waiting: their counters are changed at once, and
// looked at again then, since a job may have come before its key was locked.
func (w *work) freeSlots(freed map[string]int64) error {
	if len(freed) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(freed))
	wanted, err := w.names("limits_wanted", keys)
	if err != nil {
		return err
	}
	for _, key := range wanted {
		w.shiftKey(key, shift{active: -freed[key]})
	}
	if len(wanted) == len(keys) {
		return nil
	}
	idle := make([]string, 0, len(keys)-len(wanted))
	slots := make([]int64, 0, len(keys)-len(wanted))
	slices.Sort(wanted)
	for _, key := range keys {
		if _, found := slices.BinarySearch(wanted, key); !found {
			idle, slots = append(idle, key), append(slots, freed[key])
		}
	}
	if err := w.exec("limits_free", idle, slots); err != nil {
		return err
	}
	late, err := w.names("limits_wanted", idle)
	for _, key := range late {
		w.keyTouched(key)
	}
	return err
}

// keysOf lists the limit keys of jobs, each once.
func (w *work) keysOf(ids []int64) ([]string, error) { return w.names("limits_of", ids) }

// Limits implements driver.LimitReader.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	if !storable(after) {
		return nil, s.usable(ctx) // no key is behind what no key can be
	}
	var infos []driver.LimitInfo
	err := s.read(ctx, func(r *reader) error {
		infos = nil
		return r.each("limits_list", []any{after, int64(storekit.OrDefault(limit, 100))}, func(rows rows) error {
			var i driver.LimitInfo
			var clocks storekit.Clocks
			err := rows.Scan(&i.Key, &i.Max, &i.Rate, &i.Per, &i.Burst, &i.Active, &i.Reserved, &clocks.TAT, &i.Throttled)
			i.NextStart = storekit.Rule{Max: i.Max, Rate: i.Rate, Per: i.Per, Burst: i.Burst}.NextStart(clocks, r.now)
			infos = append(infos, i)
			return err
		})
	})
	return infos, err
}
