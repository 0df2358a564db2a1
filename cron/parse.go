package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// maxSpec is the most bytes of a spec.
const maxSpec = 1000

// Parse reads a spec. The error wraps driver.ErrInvalid and names the field, the item and what is allowed.
func Parse(spec string) (*Schedule, error) {
	s, err := parse(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: cron spec %s: %w", driver.ErrInvalid, quote(spec), err)
	}
	return s, nil
}

func parse(spec string) (*Schedule, error) {
	if len(spec) > maxSpec {
		return nil, fmt.Errorf("%d bytes, more than %d", len(spec), maxSpec)
	}
	words := strings.Fields(spec)
	switch {
	case len(words) == 0:
		return nil, fmt.Errorf("it is empty")
	case words[0][0] == '@':
		return parseDescriptor(words)
	case strings.Contains(words[0], "="):
		return nil, fmt.Errorf("a time zone does not belong into the spec")
	case len(words) == 5:
		words = append([]string{"0"}, words...)
	case len(words) != 6:
		return nil, fmt.Errorf("%d fields, want 5 (minute hour day month weekday) or 6 with seconds first", len(words))
	}
	return parseFields(words)
}

// descriptors are short for fields. Two names of one schedule have one text.
var descriptors = map[string]struct{ text, fields string }{
	"@yearly":   {"@yearly", "0 0 0 1 1 *"},
	"@annually": {"@yearly", "0 0 0 1 1 *"},
	"@monthly":  {"@monthly", "0 0 0 1 * *"},
	"@weekly":   {"@weekly", "0 0 0 * * 0"},
	"@daily":    {"@daily", "0 0 0 * * *"},
	"@midnight": {"@daily", "0 0 0 * * *"},
	"@hourly":   {"@hourly", "0 0 * * * *"},
}

func parseDescriptor(words []string) (*Schedule, error) {
	name := strings.ToLower(words[0])
	if name == "@every" {
		return parseEvery(words[1:])
	}
	known, ok := descriptors[name]
	if !ok {
		return nil, fmt.Errorf("%s is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every", quote(words[0]))
	}
	if len(words) > 1 {
		return nil, fmt.Errorf("%s stands alone, there is %s after it", known.text, quote(words[1]))
	}
	s, err := parseFields(strings.Fields(known.fields))
	if err != nil {
		return nil, err
	}
	s.text = known.text
	return s, nil
}

func parseEvery(words []string) (*Schedule, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("@every needs one duration, such as @every 90m, there are %d words", len(words))
	}
	d, err := time.ParseDuration(strings.ToLower(words[0]))
	if err != nil {
		return nil, fmt.Errorf("@every needs a duration, such as @every 90m, not %s", quote(words[0]))
	}
	if d < time.Second {
		return nil, fmt.Errorf("@every %s is below 1s", d)
	}
	d = d.Truncate(time.Second)
	return &Schedule{every: d, text: "@every " + d.String()}, nil
}

// parseFields reads six fields.
func parseFields(words []string) (*Schedule, error) {
	s := &Schedule{}
	targets := [6]*uint64{&s.clock.seconds, &s.clock.minutes, &s.clock.hours, &s.days.month, &s.days.months, &s.days.week}
	for i := range fields {
		p := parser{field: &fields[i], days: &s.days, set: targets[i]}
		text, err := p.parse(words[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[i].name, err)
		}
		words[i] = text
	}
	s.follows = strings.ContainsAny(words[2], "*/")
	s.days.monthOpen, s.days.weekOpen = words[3][0] == '*', words[5][0] == '*'
	if s.days.week>>7&1 != 0 {
		s.days.week = s.days.week&^(1<<7) | 1
	}
	if words[0] == "0" {
		words = words[1:]
	}
	s.text = strings.Join(words, " ")
	return s, nil
}

// quote shows a text in an error, shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
