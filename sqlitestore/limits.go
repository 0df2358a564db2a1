package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
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
	rows := make([]any, 0, 5*len(rules))
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		r := rules[key]
		rows = append(rows, key, int64(r.Max), int64(r.Rate), int64(r.Per), int64(r.Burst))
		w.keyTouched(key)
	}
	return w.many("limits_rule", nil, 5, rows)
}

// admitTouched admits what has room now under the limit keys that the call touched.
func (w *work) admitTouched() error {
	if len(w.limits) == 0 {
		return nil
	}
	a := admission{work: w, keys: slices.Sorted(maps.Keys(w.limits)), shifts: w.limits, known: w.known}
	w.limits, w.known = nil, nil
	return a.run()
}

// touchMarked touches up to limit keys that are marked.
func (w *work) touchMarked(limit int) error {
	return w.each("limits_marked", []any{int64(limit)}, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		w.keyTouched(key)
		return err
	})
}

// freeSlots notes that jobs have left processing. The slots of keys without waiting jobs, for which nothing else is to be done, are
// given back at once.
func (w *work) freeSlots(ids []int64) error {
	list := encodeIDs(ids)
	wanted, waiting := 0, 0
	if _, err := w.one("limits_any", nil, &waiting); err != nil {
		return err
	}
	if waiting != 0 {
		if w.known == nil {
			w.known = map[string]waitingKey{}
		}
		err := w.each("limits_wanted", []any{list}, func(rows *sql.Rows) error {
			var key string
			var n int
			var k waitingKey
			err := rows.Scan(&key, &n, &k.Max, &k.Active, &k.more)
			w.known[key] = k
			w.shiftKey(key, shift{active: -int64(n)})
			wanted += n
			return err
		})
		if err != nil || wanted == len(ids) {
			return err
		}
	}
	return w.exec("limits_free", list, int64(waiting))
}

// keysOf lists the limit keys of jobs, each once.
func (w *work) keysOf(ids string) (keys []string, err error) {
	err = w.each("limits_of", []any{ids}, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		keys = append(keys, key)
		return err
	})
	return keys, err
}

// Limits implements driver.LimitReader.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	var infos []driver.LimitInfo
	err := s.read(ctx, func(r *reader) error {
		infos = nil
		return r.each("limits_list", []any{after, int64(storekit.OrDefault(limit, 100))}, func(rows *sql.Rows) error {
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

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
