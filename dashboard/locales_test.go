package dashboard

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// keysInUse finds the keys that templates and code name, and the beginnings of those that they put together.
func keysInUse(t *testing.T) (keys, beginnings map[string]bool) {
	t.Helper()
	keys, beginnings = map[string]bool{}, map[string]bool{}
	var texts []string
	templates, _ := fs.Glob(templateFiles, "templates/*.html")
	for _, name := range templates {
		text, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".go") && !strings.HasSuffix(file.Name(), "_test.go") {
			text, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	for _, text := range texts {
		for _, m := range regexp.MustCompile(`[({ ](?:t|n) "([^"]+)"|\.(?:message|text|plural|phrase|counted|say|turn|two)\((?:[^"()]*, )?"([a-z][^"]*)"`).FindAllStringSubmatch(text, -1) {
			if key := m[1] + m[2]; key != "n" {
				keys[key] = true
			}
		}
		for _, m := range regexp.MustCompile(`\(print "([^"]+\.)"|"([a-z.]+\.)" *\+`).FindAllStringSubmatch(text, -1) {
			beginnings[m[1]+m[2]] = true
		}
		for _, m := range regexp.MustCompile(`"(time\.[a-z]+|number\.[a-z]+|why\.[a-z-]+|error\.[0-9.a-z]+|segment\.[a-z]+)"`).FindAllStringSubmatch(text, -1) {
			keys[m[1]] = true
		}
	}
	return keys, beginnings
}

func TestEveryKeyIsInEveryLanguage(t *testing.T) {
	keys, _ := keysInUse(t)
	if len(keys) < 200 {
		t.Fatalf("only %d keys found in use: the patterns have lost their way", len(keys))
	}
	for tag, l := range locales {
		for key := range keys {
			_, plain := l.messages[key]
			_, one := l.messages[key+".one"]
			_, other := l.messages[key+".other"]
			if !plain && !(one && other) && !strings.HasSuffix(key, ".") {
				t.Errorf("%s lacks %s", tag, key)
			}
		}
		for _, key := range builtKeys() {
			if _, ok := l.messages[key]; !ok {
				t.Errorf("%s lacks %s", tag, key)
			}
		}
	}
}

// builtKeys are the keys that are put together from values.
func builtKeys() []string {
	var keys []string
	for _, state := range driver.States {
		for _, beginning := range []string{"state.", "empty.", "list.when."} {
			keys = append(keys, beginning+string(state))
		}
	}
	for _, kind := range []string{problemUnserved, problemUnhandled, problemFailures, problemRecurringLate, problemRecurringFailed, problemWaits, problemHeld, problemSilent, problemPaused} {
		keys = append(keys, "missing."+kind)
	}
	for _, section := range []string{"overview", "jobs", "failed", "retries", "batches", "recurring", "queues", "limits", "servers"} {
		keys = append(keys, "nav."+section)
	}
	for _, key := range []string{"theme.auto", "theme.light", "theme.dark", "misfire.once", "misfire.all", "misfire.skip", "segment.wait", "segment.backoff", "segment.run", "segment.mixed"} {
		keys = append(keys, key)
	}
	for _, key := range []string{"why.turn", "why.ahead"} {
		keys = append(keys, key+".one", key+".other", key+"-more.one", key+"-more.other", key+"-first")
	}
	for _, status := range []string{"400", "404", "409", "500"} {
		keys = append(keys, "error."+status, "error."+status+".title")
	}
	keys = append(keys, "language.name")
	for _, done := range []string{"requeued", "deleted"} {
		keys = append(keys, "done."+done+".one", "done."+done+".other")
	}
	for _, done := range []string{"triggered", "queue-paused", "queue-resumed", "recurring-paused", "recurring-resumed", "recurring-removed"} {
		keys = append(keys, "done."+done)
	}
	return keys
}

func TestNoKeyIsForgotten(t *testing.T) {
	keys, beginnings := keysInUse(t)
	script, err := assetFiles.ReadFile("assets/app.js")
	if err != nil {
		t.Fatal(err)
	}
	for key := range locales[fallback].messages {
		bare := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
		if keys[key] || keys[bare] || slices.Contains(builtKeys(), key) {
			continue
		}
		if short, ok := strings.CutPrefix(key, "js."); ok {
			word := strings.Split(short, ".")[0]
			if strings.Contains(string(script), `"`+word) || strings.Contains(string(script), "messages."+word) {
				continue
			}
		}
		if !slices.ContainsFunc(append(slices.Collect(maps.Keys(beginnings)), "reason.", "problem."), func(b string) bool { return strings.HasPrefix(key, b) }) {
			t.Errorf("nothing uses %s", key)
		}
	}
}

// TestLanguagesAgree pins that all languages have the same keys, with the same placeholders in them.
func TestLanguagesAgree(t *testing.T) {
	placeholders := func(text string) []string {
		found := regexp.MustCompile(`\{\w+\}`).FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	english := locales[fallback].messages
	for tag, l := range locales {
		for key, text := range l.messages {
			if _, ok := english[key]; !ok {
				t.Errorf("%s has %s, which %s lacks", tag, key, fallback)
			}
			if text == "" {
				t.Errorf("%s: %s is empty", tag, key)
			}
			if tag != fallback && !slices.Equal(placeholders(text), placeholders(english[key])) {
				t.Errorf("%s: %s has %v, want %v", tag, key, placeholders(text), placeholders(english[key]))
			}
		}
		for key := range english {
			if _, ok := l.messages[key]; !ok {
				t.Errorf("%s lacks %s", tag, key)
			}
		}
		if months := strings.Fields(l.message("date.months")); len(months) != 12 {
			t.Errorf("%s has %d months", tag, len(months))
		}
	}
}
