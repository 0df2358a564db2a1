package storekit

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestLimits(t *testing.T) {
	for n, want := range map[int]int{math.MinInt: 20, -1: 20, 0: 20, 1: 1, 20: 20, 500: 500, 501: 500, math.MaxInt: 500} {
		if got := PageLimit(n); got != want {
			t.Errorf("PageLimit(%d) is %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{-5: 1, 0: 1, 1: 1, 1000: 1000} {
		if got := AtLeastOne(n); got != want {
			t.Errorf("AtLeastOne(%d) is %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{-5: 100, 0: 100, 1: 1, 1000: 1000} {
		if got := OrDefault(n, 100); got != want {
			t.Errorf("OrDefault(%d, 100) is %d, want %d", n, got, want)
		}
	}
}

func TestParseCursor(t *testing.T) {
	if c, ok, err := ParseCursor(""); ok || err != nil || c != (Cursor{}) {
		t.Errorf("the empty cursor: %v, %t, %v", c, ok, err)
	}
	whole := Cursor{Value: 1709208000123456, ID: 42}.String()
	for name, s := range map[string]string{
		"word":            "next",
		"too short":       whole[:21],
		"cut group":       whole[:20],
		"too long":        whole + "AA",
		"padded":          whole + "==",
		"blank before":    " " + whole,
		"line break":      whole[:10] + "\n" + whole[10:],
		"line break last": whole + "\r\n",
		"other alphabet":  strings.Repeat("+/", 11),
		"number":          "1709208000123456",
		"stray last bits": whole[:21] + "h",
		"huge":            strings.Repeat("A", 1<<20),
		"not text":        "\xff\x00",
	} {
		if _, ok, err := ParseCursor(s); ok || !errors.Is(err, driver.ErrInvalid) || len(err.Error()) > 400 {
			t.Errorf("%s: %t, %.500v, want a short ErrInvalid", name, ok, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(int64(0), int64(0), "")
	f.Add(int64(-1), int64(math.MaxInt64), "AAAAAAAAAAAAAAAAAAAAAQ")
	f.Add(int64(math.MinInt64), int64(1), "AAAAAAAAAA\nAAAAAAAAAAAQ")
	f.Add(int64(7), int64(9), "AAAAAAAAAAAAAAAAAAAAAR")
	f.Fuzz(func(t *testing.T, value, id int64, s string) {
		c := Cursor{Value: value, ID: id}
		if got, ok, err := ParseCursor(c.String()); got != c || !ok || err != nil {
			t.Errorf("%+v came back as %+v, %t, %v", c, got, ok, err)
		}
		got, ok, err := ParseCursor(s)
		switch {
		case s == "":
			if ok || err != nil {
				t.Errorf("the empty cursor: %t, %v", ok, err)
			}
		case err == nil:
			if !ok || got.String() != s {
				t.Errorf("%q is taken for %+v, which reads %q", s, got, got.String())
			}
		case ok || !errors.Is(err, driver.ErrInvalid):
			t.Errorf("%q: %t, %v", s, ok, err)
		}
	})
}

func TestCheckQuery(t *testing.T) {
	for _, s := range driver.States {
		if err := CheckQuery(driver.JobQuery{State: s}); err != nil {
			t.Errorf("state %s: %v", s, err)
		}
	}
	for _, s := range []driver.State{"", "gone", "Failed", driver.State(strings.Repeat("x", 1<<20))} {
		err := CheckQuery(driver.JobQuery{State: s})
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "State") || len(err.Error()) > 400 {
			t.Errorf("state %.20q: %.500v, want a short ErrInvalid", s, err)
		}
	}
}
