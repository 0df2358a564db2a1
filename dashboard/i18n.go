package dashboard

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed locales/*.json
var localeFiles embed.FS

// fallback is the language of those for whom nothing else decides.
const fallback = "en"

// locale is one language: the messages of its file, by key.
type locale struct {
	// Tag is the language's tag, such as "pt-BR", and Name what the language calls itself.
	Tag, Name string
	messages  map[string]string
}

// locales are all languages, by tag. They are part of the program, so one that cannot be read is a mistake in it.
var locales = readLocales()

func readLocales() map[string]*locale {
	files, err := localeFiles.ReadDir("locales")
	if err != nil {
		panic(err)
	}
	all := map[string]*locale{}
	for _, file := range files {
		text, err := localeFiles.ReadFile("locales/" + file.Name())
		if err != nil {
			panic(err)
		}
		l := &locale{Tag: strings.TrimSuffix(file.Name(), ".json")}
		if err := json.Unmarshal(text, &l.messages); err != nil {
			panic(fmt.Sprintf("dashboard: locale %s: %v", l.Tag, err))
		}
		l.Name = l.messages["language.name"]
		all[l.Tag] = l
	}
	return all
}

// languages lists the languages by tag, the fallback first.
func languages() []*locale {
	tags := slices.Sorted(maps.Keys(locales))
	list := []*locale{locales[fallback]}
	for _, tag := range tags {
		if tag != fallback {
			list = append(list, locales[tag])
		}
	}
	return list
}

// message returns the text of a key. A key that the language lacks is shown in the fallback; tests keep that from happening.
func (l *locale) message(key string) string {
	if text, ok := l.messages[key]; ok {
		return text
	}
	if text, ok := locales[fallback].messages[key]; ok {
		return text
	}
	return key
}

// text returns the message of a key with its placeholders filled in. args are names and values in turn: "name", value.
func (l *locale) text(key string, args ...any) string { return l.fill(l.message(key), args) }

// plural is text for a number of things: the message of key.one or key.other, in which {n} is the number.
func (l *locale) plural(key string, n int64, args ...any) string {
	return l.fill(l.message(key+"."+l.form(n)), append(args, "n", n))
}

// form is the plural form for a number. English and Portuguese as Brazil writes it have one for exactly 1, and another.
func (l *locale) form(n int64) string {
	if n == 1 {
		return "one"
	}
	return "other"
}

func (l *locale) fill(text string, args []any) string {
	if len(args) == 0 || !strings.Contains(text, "{") {
		return text
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+args[i].(string)+"}", l.show(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// show writes a value into a message.
func (l *locale) show(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int:
		return l.number(int64(v))
	case int64:
		return l.number(v)
	default:
		return fmt.Sprint(v)
	}
}

// number groups the digits of a number.
func (l *locale) number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	groups = append(groups, digits)
	slices.Reverse(groups)
	return sign + strings.Join(groups, l.message("number.group"))
}

// short shortens a large number to three or four digits: 141.3k, 1.2M.
func (l *locale) short(n int64) string {
	for _, unit := range []struct {
		from, by int64
		sign     string
	}{{1_000_000_000, 1_000_000_000, "G"}, {1_000_000, 1_000_000, "M"}, {10_000, 1000, "k"}} {
		if n < unit.from {
			continue
		}
		tenths := n / (unit.by / 10)
		if tenths%10 == 0 || tenths >= 10_000 {
			return l.number(tenths/10) + unit.sign
		}
		return l.number(tenths/10) + l.message("number.decimal") + strconv.FormatInt(tenths%10, 10) + unit.sign
	}
	return l.number(n)
}

// languageOf chooses the language of a request: that of the cookie, then the handler's own, then what the browser asks for.
func languageOf(r *http.Request, own string) *locale {
	if cookie, err := r.Cookie(languageCookie); err == nil {
		if l := locales[cookie.Value]; l != nil {
			return l
		}
	}
	if l := matchLocale(own); l != nil {
		return l
	}
	return accepted(r.Header.Values("Accept-Language"))
}

// matchLocale finds the language for a tag: the same one, or another of the same language. A tag of nothing known has none.
func matchLocale(tag string) *locale {
	base, _, _ := strings.Cut(tag, "-")
	var near *locale
	for _, l := range languages() {
		if strings.EqualFold(l.Tag, tag) {
			return l
		}
		if own, _, _ := strings.Cut(l.Tag, "-"); near == nil && base != "" && strings.EqualFold(own, base) {
			near = l
		}
	}
	return near
}

// accepted is the language that an Accept-Language header wants most.
func accepted(headers []string) *locale {
	best, most := locales[fallback], 0.0
	for entry := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		tag, parameter, _ := strings.Cut(strings.TrimSpace(entry), ";")
		quality := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil {
				continue
			}
			quality = q
		}
		if l := matchLocale(strings.TrimSpace(tag)); l != nil && quality > most {
			best, most = l, quality
		}
	}
	return best
}
