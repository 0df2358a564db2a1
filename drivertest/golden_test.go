package drivertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goldenFile = "testdata/skips.golden"

// accept runs the suite so that it writes its list of skips into dir, and returns the list.
func accept(t *testing.T, dir, mutant, run string) string {
	t.Helper()
	out, passed := child(t, dir, mutant, run, "KILN_UPDATE_GOLDEN=1")
	if !passed {
		t.Fatalf("the suite failed while it wrote the list:\n%s", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, goldenFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, goldenFile), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenList lets the suite write its list of skips and then spoils the list in all ways that have to be noticed.
func TestGoldenList(t *testing.T) {
	t.Parallel()
	const run = "^TestChild$/^(Insert|Tx)$"
	dir := t.TempDir()
	list := accept(t, dir, "bare", run)
	first := "Tx/Commit: the store is no Transactor\n"
	if !strings.Contains(list, first) || !strings.Contains(list, "Tx/Events: ") || strings.Contains(list, "Notify/") {
		t.Fatalf("the list is not what the run skipped:\n%s", list)
	}
	for _, c := range []struct{ what, text, says string }{
		{"as it was written", list, ""},
		{"with a comment and an empty line", "# a comment\n\n" + list, ""},
		{"with the skip of a case that was not visited", list + "Notify/Pause: the store is no Notifier\n", ""},
		{"without a skip", strings.Replace(list, first, "", 1), "Tx/Commit was skipped (the store is no Transactor) and is not listed"},
		{"empty", "", "Tx/Commit was skipped"},
		{"with a case that ran", list + "Insert/IDs: too slow\n", "Insert/IDs is listed as skipped and ran"},
		{"with another reason", strings.Replace(list, first, "Tx/Commit: too slow\n", 1), `Tx/Commit was skipped for "the store is no Transactor" and is listed for "too slow"`},
		{"with a case that does not exist", list + "Insert/Nothing: gone\n", "Insert/Nothing is listed and no case has this name"},
		{"with a case twice", list + first, "names Tx/Commit a second time"},
		{"with a line that says nothing", list + "Insert/IDs\n", "is not of the form"},
	} {
		write(t, dir, c.text)
		out, passed := child(t, dir, "bare", run)
		if passed != (c.says == "") {
			t.Errorf("with a list %s: passed is %v:\n%s", c.what, passed, failures(out))
		}
		if !strings.Contains(out, c.says) {
			t.Errorf("with a list %s: the output does not say %q:\n%s", c.what, c.says, failures(out))
		}
	}
}

// TestGoldenListMerges expects a run of some cases to leave what the list says of the others.
func TestGoldenListMerges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	accept(t, dir, "bare", "^TestChild$/^(Tx|Rate)$")
	list := accept(t, dir, "bare", "^TestChild$/^Notify$")
	if !strings.Contains(list, "Tx/Commit: ") || !strings.Contains(list, "Notify/Resync: ") {
		t.Errorf("a second run of other cases did not keep the first one's list:\n%s", list)
	}
	write(t, dir, list+"Tx/Gone: old\nNotify/Gone: old\nRate/Burst: it ran\n")
	if again := accept(t, dir, "bare", "^TestChild$/^(Tx|Rate|Notify)$"); again != list {
		t.Errorf("the list keeps what is out of date:\n%s", again)
	}
}

// TestOptionalInterfaces expects the suite to skip what a store does not implement, visibly and for this reason.
func TestOptionalInterfaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mutant string
		want   []string
		absent []string
	}{
		{"bare", []string{
			"Notify/Resync: the store is no Notifier\n", "Tx/Commit: the store is no Transactor\n", "Tx/Events: the store is no Transactor\n",
			"Recurring/Problems/late: the store is no ProblemReader\n", "Rate/Explain: the store is no Explainer\n",
		}, nil},
		{
			"unsupported", []string{"Notify/Pause: Subscribe is unsupported as the store is set up\n", "Tx/Events: Subscribe is unsupported as the store is set up\n"},
			[]string{"Tx/Commit: "},
		},
		{"none", nil, []string{"Notify/Resync: ", "Tx/Commit: ", "Tx/Events: ", "Recurring/Problems/late: ", "Rate/Explain: "}},
	} {
		list := accept(t, t.TempDir(), c.mutant, "^TestChild$/^(Notify|Tx|Recurring|Rate)$")
		for _, line := range c.want {
			if !strings.Contains(list, line) {
				t.Errorf("store %s: the list lacks %q:\n%s", c.mutant, line, list)
			}
		}
		for _, line := range c.absent {
			if strings.Contains(list, line) {
				t.Errorf("store %s: the list has %q:\n%s", c.mutant, line, list)
			}
		}
	}
}
