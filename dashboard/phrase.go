package dashboard

import (
	"fmt"
	"strings"
	"time"
)

// phrase is a sentence whose parts may be links and instants.
type phrase []piece

// piece is a part of a phrase. An instant is shown as its time, and follows the reader's zone.
type piece struct {
	Text, URL string
	Time      time.Time
}

// phrase is the message of a key as a phrase. args are names and values in turn; a value is a piece, a phrase or what text takes.
func (l *locale) phrase(key string, args ...any) phrase {
	values := map[string]any{}
	for i := 0; i+1 < len(args); i += 2 {
		values[args[i].(string)] = args[i+1]
	}
	var spans phrase
	rest := l.message(key)
	for rest != "" {
		before, behind, found := strings.Cut(rest, "{")
		name, after, closed := strings.Cut(behind, "}")
		value, known := values[name]
		if !found || !closed || !known {
			return append(spans, piece{Text: rest})
		}
		if before != "" {
			spans = append(spans, piece{Text: before})
		}
		spans = append(spans, l.spansOf(value)...)
		rest = after
	}
	return spans
}

// counted is phrase for a number of things.
func (l *locale) counted(key string, n int64, args ...any) phrase {
	return l.phrase(key+"."+l.form(n), append(args, "n", n)...)
}

func (l *locale) spansOf(value any) phrase {
	switch v := value.(type) {
	case phrase:
		return v
	case piece:
		return phrase{v}
	case time.Time:
		return phrase{{Time: v}}
	default:
		return phrase{{Text: l.show(v)}}
	}
}

// enumerate joins phrases as a language joins the last two of several.
func (l *locale) enumerate(items []phrase) phrase {
	var all phrase
	for i, item := range items {
		switch {
		case i == 0:
		case i == len(items)-1:
			all = append(all, piece{Text: l.message("list.last")})
		default:
			all = append(all, piece{Text: l.message("list.next")})
		}
		all = append(all, item...)
	}
	return all
}

// plain writes a value for an address, without the grouping of a language.
func plain(value any) string { return fmt.Sprint(value) }
