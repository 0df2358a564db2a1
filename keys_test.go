package kiln_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

func TestUniqueOption(t *testing.T) {
	c, got := capture(t)
	hash := func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		return sum[:16]
	}
	for _, test := range []struct {
		name string
		opts []kiln.InsertOption
		want driver.InsertParams
	}{
		{"key", []kiln.InsertOption{kiln.Unique{Key: "k"}}, driver.InsertParams{UniqueKey: hash("send_email\x00k")}},
		{"args", []kiln.InsertOption{kiln.Unique{}}, driver.InsertParams{UniqueKey: hash("send_email\x00{\"To\":\"a\"}")}},
		{"window", []kiln.InsertOption{kiln.Unique{Key: "k", For: time.Hour}}, driver.InsertParams{UniqueKey: hash("send_email\x00k"), UniqueFor: time.Hour}},
		{"negative window", []kiln.InsertOption{kiln.Unique{Key: "k", For: -1}}, driver.InsertParams{UniqueKey: hash("send_email\x00k")}},
		{
			"replace", []kiln.InsertOption{kiln.Unique{Key: "k", Replace: true}, kiln.Delay(time.Hour)},
			driver.InsertParams{UniqueKey: hash("send_email\x00k"), UniqueReplace: true, Delay: time.Hour},
		},
		{
			"debounce instead of a later Delay", []kiln.InsertOption{kiln.Unique{Key: "k", Debounce: time.Minute}, kiln.Delay(time.Hour)},
			driver.InsertParams{UniqueKey: hash("send_email\x00k"), UniqueDebounce: time.Minute, Delay: time.Minute},
		},
		{
			"debounce instead of an earlier At", []kiln.InsertOption{kiln.At(time.Now()), kiln.Unique{Key: "k", Debounce: time.Minute}},
			driver.InsertParams{UniqueKey: hash("send_email\x00k"), UniqueDebounce: time.Minute, Delay: time.Minute},
		},
		{
			"the later one counts", []kiln.InsertOption{kiln.Unique{Key: "a", Debounce: time.Minute}, kiln.Unique{Key: "k", Debounce: -1}},
			driver.InsertParams{UniqueKey: hash("send_email\x00k")},
		},
	} {
		if _, err := c.Enqueue(t.Context(), email{To: "a"}, test.opts...); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		p := (*got)[len(*got)-1]
		if !bytes.Equal(p.UniqueKey, test.want.UniqueKey) || p.UniqueFor != test.want.UniqueFor || p.UniqueReplace != test.want.UniqueReplace ||
			p.UniqueDebounce != test.want.UniqueDebounce || p.Delay != test.want.Delay || !p.RunAt.IsZero() {
			t.Errorf("%s: got %+v", test.name, p)
		}
	}
	_, err := c.Enqueue(t.Context(), email{}, kiln.Unique{Replace: true, Debounce: time.Second})
	if !errors.Is(err, kiln.ErrInvalid) || !strings.Contains(err.Error(), "Replace") {
		t.Errorf("Replace with Debounce: %v", err)
	}
}

func TestLimitOption(t *testing.T) {
	c, got := capture(t)
	longest := strings.Repeat("k", 200)
	for _, test := range []struct {
		name string
		give kiln.Limit
		want kiln.Limit
	}{
		{"nothing", kiln.Limit{}, kiln.Limit{Key: "send_email", Max: 1}},
		{"key", kiln.Limit{Key: "k"}, kiln.Limit{Key: "k", Max: 1}},
		{"max", kiln.Limit{Key: longest, Max: 5}, kiln.Limit{Key: longest, Max: 5}},
		{"max below 1", kiln.Limit{Max: -5, Per: time.Hour, Burst: 3}, kiln.Limit{Key: "send_email", Max: 1}},
		{"rate", kiln.Limit{Rate: 100}, kiln.Limit{Key: "send_email", Rate: 100, Per: time.Second, Burst: 100}},
		{"all", kiln.Limit{Key: "k", Max: 3, Rate: 100, Per: time.Minute, Burst: 7}, kiln.Limit{Key: "k", Max: 3, Rate: 100, Per: time.Minute, Burst: 7}},
	} {
		if _, err := c.Enqueue(t.Context(), email{}, kiln.Limit{Key: "before"}, test.give); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		p := (*got)[len(*got)-1]
		if is := (kiln.Limit{Key: p.LimitKey, Max: p.LimitMax, Rate: p.LimitRate, Per: p.LimitPer, Burst: p.LimitBurst}); is != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, is, test.want)
		}
	}
	for _, test := range []struct {
		give kiln.Limit
		want error
		says string
	}{
		{kiln.Limit{Key: longest + "k"}, kiln.ErrTooLarge, "201 bytes, more than 200"},
		{kiln.Limit{Rate: -1}, kiln.ErrInvalid, "Rate -1"},
		{kiln.Limit{Rate: 1, Per: -time.Second}, kiln.ErrInvalid, "Per -1s"},
		{kiln.Limit{Burst: -2}, kiln.ErrInvalid, "Burst -2"},
		{kiln.Limit{Rate: 1, Max: -3}, kiln.ErrInvalid, "Max -3"},
		{kiln.Limit{Key: "a\x00"}, kiln.ErrInvalid, "LimitKey"},
		{kiln.Limit{Key: "a\xff"}, kiln.ErrInvalid, "LimitKey"},
	} {
		if _, err := c.Enqueue(t.Context(), email{}, test.give); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want %v with %q", test.give, err, test.want, test.says)
		}
	}
}
