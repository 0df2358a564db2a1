package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// market is a weighted picker over queues whose backlogs a test sets.
type market struct {
	picker  picker
	backlog map[string]int
	paused  map[string]bool
	now     time.Time
	claimed map[string]int
	total   int
}

func newMarket(weights map[string]int) *market {
	c := PoolConfig{Weights: weights, Workers: 1}
	for i := range len(weights) {
		c.Queues = append(c.Queues, queueName(i))
	}
	return &market{
		picker: newPicker(c, time.Second), backlog: map[string]int{}, paused: map[string]bool{}, now: time.Unix(1000, 0),
		claimed: map[string]int{},
	}
}

func queueName(i int) string { return string(rune('a' + i)) }

// insert gives a queue work and tells the picker, as a notification would.
func (m *market) insert(queue string, n int) {
	m.backlog[queue] += n
	m.picker.hint([]string{queue})
}

func (m *market) pause(queue string, paused bool) {
	m.paused[queue] = paused
	if opened, _ := m.picker.pause(m.paused); opened {
		m.picker.hint(nil)
	}
}

// claim does what a claim of n jobs does, in a store that has the backlogs.
func (m *market) claim(n int) int {
	queues, limit := m.picker.draw(n, m.now)
	since := m.picker.heard
	got, left := map[string]int{}, limit
	for _, q := range queues {
		if take := min(left, m.backlog[q]); take > 0 {
			got[q] = take
			m.backlog[q] -= take
			m.claimed[q] += take
			m.total += take
			left -= take
		}
	}
	m.picker.took(queues, got, left > 0, since, m.now)
	m.now = m.now.Add(time.Millisecond)
	return limit - left
}

// run claims at least n jobs, up to most at a time, and returns how many each queue got.
func (m *market) run(n, most int, draw func(int) int) map[string]int {
	m.claimed, m.total = map[string]int{}, 0
	for idle := 0; m.total < n && idle < 10; idle++ {
		if m.claim(1+draw(most)) > 0 {
			idle = 0
		}
	}
	return m.claimed
}

// checkShares holds what queues got to their weights, ±10 % and the part of one claim by which dealing whole jobs can be off.
func checkShares(t *testing.T, when string, got map[string]int, weights map[string]int, busy func(string) bool, most int) {
	t.Helper()
	sum, total := 0, 0
	for q, w := range weights {
		total += got[q]
		if busy(q) {
			sum += w
		}
	}
	for q, w := range weights {
		part := 0.0
		if busy(q) {
			part = float64(w) / float64(sum)
		}
		want := float64(total) * part
		if off := math.Abs(float64(got[q]) - want); off > want*0.1+float64(most)*part+1 {
			t.Errorf("%s: queue %s of weight %d got %d of %d claims, want about %.0f; weights %v, up to %d at a time",
				when, q, w, got[q], total, want, weights, most)
		}
	}
}

// TestPickerShares draws weights and workers, and lets queues become empty, come back and be paused in between: whatever was
// before, over the next 1,000 claims each queue that has work gets its share.
func TestPickerShares(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		weights := map[string]int{}
		for i := range 2 + rng.IntN(4) {
			weights[queueName(i)] = 1 + rng.IntN(9)
		}
		m := newMarket(weights)
		workers := []int{1, 2, 5, 20}[rng.IntN(4)]
		for round := range 8 {
			alive := 0
			for i := range len(weights) {
				q := queueName(i)
				m.backlog[q] = 0
				if rng.IntN(3) > 0 {
					m.insert(q, 1_000_000)
				}
				m.pause(q, rng.IntN(4) == 0)
				if m.backlog[q] > 0 && !m.paused[q] {
					alive++
				}
			}
			got := m.run(1000, workers, rng.IntN)
			if alive == 0 {
				continue
			}
			busy := func(q string) bool { return m.backlog[q] > 0 && !m.paused[q] }
			checkShares(t, fmt.Sprintf("seed %d round %d", seed, round), got, weights, busy, workers)
		}
	}
}

// TestPickerForgetsIdleTime pins that a queue that had nothing to do, or was paused, while another one worked a lot does not
// keep that other one waiting afterwards.
func TestPickerForgetsIdleTime(t *testing.T) {
	weights := map[string]int{"a": 1, "b": 1}
	both := func(string) bool { return true }
	t.Run("idle", func(t *testing.T) {
		m := newMarket(weights)
		m.insert("a", 5000)
		for m.claim(10) > 0 {
		}
		m.insert("b", 10_000)
		m.insert("a", 10_000)
		checkShares(t, "after a's work", m.run(1000, 1, func(int) int { return 0 }), weights, both, 1)
	})
	t.Run("paused", func(t *testing.T) {
		m := newMarket(weights)
		m.insert("a", 20_000)
		m.insert("b", 20_000)
		m.claim(1)
		m.pause("b", true)
		m.run(5000, 10, func(n int) int { return n - 1 })
		m.pause("b", false)
		checkShares(t, "after b's pause", m.run(1000, 1, func(int) int { return 0 }), weights, both, 1)
	})
}

// TestPickerBelievesAHintOverAnOlderAnswer pins that work which was announced while a claim was under way is not taken for
// missing because that claim did not find it.
func TestPickerBelievesAHintOverAnOlderAnswer(t *testing.T) {
	m := newMarket(map[string]int{"a": 1, "b": 1})
	queues, _ := m.picker.draw(1, m.now)
	since := m.picker.heard
	m.insert("a", 1000)
	m.insert("b", 1000)
	m.picker.took(queues, nil, true, since, m.now)
	got := m.run(100, 1, func(int) int { return 0 })
	if got["a"] < 45 || got["b"] < 45 {
		t.Errorf("shares %v of 100 claims, want half each", got)
	}
}

// FuzzPicker lets bytes drive a picker: no queue with work is passed over for ever, and nothing is asked of paused ones.
func FuzzPicker(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 200, 13, 77, 5, 5, 5, 9, 250})
	f.Add([]byte("pause, resume, insert and claim"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 3 {
			return
		}
		weights := map[string]int{"a": 1 + int(in[0]%10), "b": 1 + int(in[1]%10), "c": 1 + int(in[2]%10)}
		m := newMarket(weights)
		for _, b := range in[3:] {
			q := queueName(int(b>>2) % 3)
			switch b % 4 {
			case 0:
				m.insert(q, int(b))
			case 1:
				m.backlog[q] += int(b) // nobody says so
			case 2:
				m.pause(q, !m.paused[q])
			default:
				m.claim(1 + int(b>>4))
			}
		}
		for i := range 3 {
			m.backlog[queueName(i)] += 2000
		}
		m.now = m.now.Add(time.Second)
		sum := 0
		for q, w := range weights {
			if !m.paused[q] {
				sum += w
			}
		}
		// A queue that filled a whole claim in the place of an empty one has that claim to make up for, and no more.
		got := m.run(1000, 1, func(int) int { return 0 })
		for q, w := range weights {
			if want := 1000 * w / max(sum, 1); !m.paused[q] && got[q] < want/2 || m.paused[q] && got[q] > 0 {
				t.Errorf("queue %s of weight %d got %d of 1000 claims, want about %d; paused %v, weights %v", q, w, got[q], want, m.paused, weights)
			}
		}
	})
}
