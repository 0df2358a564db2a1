package dashboard

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// TestContrast holds the colours of both themes to WCAG AA: 4.5 for text on every ground that it can stand on, 3 for the borders of
// what can be pressed.
func TestContrast(t *testing.T) {
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)`).FindAllStringSubmatch(string(assets["app.css"].content), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	check := func(front, ground string, least float64) {
		t.Helper()
		for theme, name := range []string{"light", "dark"} {
			a, b := colours[front][theme], colours[ground][theme]
			if a == "" || b == "" {
				t.Fatalf("the style sheet has no colour %s or %s", front, ground)
			}
			if got := contrast(t, a, b); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", name, front, ground, got, least)
			}
		}
	}
	for _, ground := range []string{"paper", "card", "sunk"} {
		for _, front := range []string{"ink", "soft", "accent", "succeeded", "failed", "processing", "enqueued", "scheduled", "throttled", "awaiting", "deleted"} {
			check(front, ground, 4.5)
		}
	}
	check("failed", "bad-paper", 4.5)
	check("ink", "good-paper", 4.5)
	check("on-accent", "accent", 4.5)
	check("edge", "card", 3)
	check("edge", "paper", 3)
}

// contrast is the ratio of two colours as WCAG 2 defines it.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= .03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
