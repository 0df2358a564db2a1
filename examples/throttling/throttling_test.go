package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestProgram runs the program in virtual time and checks what it prints: charges a tenth of a second apart behind a burst of two, exports
// one at a time, and one report of the last edit.
func TestProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		var charges []string
		for _, m := range regexp.MustCompile(`(?m)^ *([\d.]+)s charged order (\d+)$`).FindAllStringSubmatch(text, -1) {
			charges = append(charges, m[2]+" at "+m[1])
		}
		if len(charges) > 1 {
			slices.Sort(charges[:2]) // the burst is two at once
		}
		var want []string
		for n := range 16 {
			want = append(want, fmt.Sprintf("%d at %.1f", n+1, max(float64(n-1), 0)/10))
		}
		if !slices.Equal(charges, want) {
			t.Errorf("charges %q, want %q", charges, want)
		}
		for page := range 3 {
			if line := fmt.Sprintf(" exported page %d of account 7, 1 at a time\n", page+1); strings.Count(text, line) != 1 {
				t.Errorf("it does not print %q once", line)
			}
		}
		if n := strings.Count(text, "reported"); n != 1 || !strings.Contains(text, "reported edit 5\n") {
			t.Errorf("%d reports are printed, want that of edit 5 alone", n)
		}
		if n := strings.Count(text, "\n"); n != 20 {
			t.Errorf("%d lines are printed, want 20", n)
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}
