package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// field is what one of the six fields takes.
type field struct {
	name     string
	min, max int
	// names stand for min, min+1 and so on.
	names []string
	// special reads the items that only this field has; ok is false for an item that is none of them.
	special func(p *parser, item string) (text string, ok bool, err error)
}

var fields = [6]field{
	{name: "second", min: 0, max: 59},
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day", min: 1, max: 31, special: specialDay},
	{name: "month", min: 1, max: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{name: "weekday", min: 0, max: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, special: specialWeekday},
}

// parser reads one field.
type parser struct {
	field *field
	days  *days
	set   *uint64
}

// parse reads a list of items and returns it normalised.
func (p *parser) parse(word string) (string, error) {
	items := strings.Split(strings.ToUpper(word), ",")
	for i, item := range items {
		text, err := p.item(item)
		if err != nil {
			return "", err
		}
		items[i] = text
	}
	return strings.Join(items, ","), nil
}

func (p *parser) item(item string) (string, error) {
	if p.field.special != nil {
		if item == "?" {
			item = "*"
		} else if text, ok, err := p.field.special(p, item); ok || err != nil {
			return text, err
		}
	}
	base, step, stepped := strings.Cut(item, "/")
	first, last, text, err := p.span(base, stepped)
	if err != nil {
		return "", err
	}
	by := 1
	if stepped {
		if by, err = p.step(item, step); err != nil {
			return "", err
		}
		text += "/" + strconv.Itoa(by)
	}
	for n := first; n <= last; n += by {
		*p.set |= 1 << n
	}
	return text, nil
}

// span reads what may stand before a step: *, a value, or a range. A value with a step runs to the end of the field.
func (p *parser) span(base string, stepped bool) (first, last int, text string, err error) {
	if base == "*" {
		return p.field.min, p.field.max, "*", nil
	}
	low, high, isRange := strings.Cut(base, "-")
	first, text, err = p.value(low)
	if err != nil {
		return 0, 0, "", err
	}
	switch {
	case isRange:
		var end string
		if last, end, err = p.value(high); err != nil {
			return 0, 0, "", err
		}
		if first > last {
			return 0, 0, "", fmt.Errorf("range %s runs backwards", quote(base))
		}
		return first, last, text + "-" + end, nil
	case stepped:
		return first, p.field.max, text, nil
	}
	return first, first, text, nil
}

// value reads a number or a name.
func (p *parser) value(text string) (int, string, error) {
	for i, name := range p.field.names {
		if text == name {
			return p.field.min + i, name, nil
		}
	}
	n, ok := number(text)
	if !ok {
		return 0, "", fmt.Errorf("%s is not %s", quote(text), p.field.values())
	}
	if n < p.field.min || n > p.field.max {
		return 0, "", fmt.Errorf("%s is outside of %d-%d", text, p.field.min, p.field.max)
	}
	return n, strconv.Itoa(n), nil
}

func (p *parser) step(item, text string) (int, error) {
	n, ok := number(text)
	if !ok || n < 1 || n > p.field.max {
		return 0, fmt.Errorf("step %s of %s is outside of 1-%d", quote(text), quote(item), p.field.max)
	}
	return n, nil
}

// values says in errors what the field takes.
func (f *field) values() string {
	text := fmt.Sprintf("a value from %d to %d", f.min, f.max)
	if f.names != nil {
		text += " or from " + f.names[0] + " to " + f.names[len(f.names)-1]
	}
	return text
}

// number reads digits, leading zeros included.
func number(text string) (int, bool) {
	if text == "" {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// specialDay reads L, L-n, LW and nW.
func specialDay(p *parser, item string) (string, bool, error) {
	switch back, isBack := strings.CutPrefix(item, "L-"); {
	case item == "L":
		p.days.beforeLast |= 1
		return item, true, nil
	case item == "LW":
		p.days.lastWorking = true
		return item, true, nil
	case isBack:
		n, ok := number(back)
		if !ok || n < 1 || n > 30 {
			return "", false, fmt.Errorf("%s: L-n takes a number from 1 to 30", quote(item))
		}
		p.days.beforeLast |= 1 << n
		return "L-" + strconv.Itoa(n), true, nil
	}
	text, ok := strings.CutSuffix(item, "W")
	if !ok {
		return "", false, nil
	}
	n, text, err := p.value(text)
	if err != nil {
		return "", false, err
	}
	p.days.nearest |= 1 << n
	return text + "W", true, nil
}

// specialWeekday reads nL and d#k.
func specialWeekday(p *parser, item string) (string, bool, error) {
	if text, ok := strings.CutSuffix(item, "L"); ok && text != "" {
		n, text, err := p.value(text)
		if err != nil {
			return "", false, err
		}
		p.days.lastWeek |= 1 << (n % 7)
		return text + "L", true, nil
	}
	text, nth, ok := strings.Cut(item, "#")
	if !ok {
		return "", false, nil
	}
	n, text, err := p.value(text)
	if err != nil {
		return "", false, err
	}
	k, ok := number(nth)
	if !ok || k < 1 || k > len(p.days.nth) {
		return "", false, fmt.Errorf("%s: d#k takes a k from 1 to %d", quote(item), len(p.days.nth))
	}
	p.days.nth[k-1] |= 1 << (n % 7)
	return text + "#" + strconv.Itoa(k), true, nil
}
