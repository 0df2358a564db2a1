package pgserver

import (
	"fmt"
	"os"
	"testing"
)

// skipsEnv names a file that collects why tests were skipped.
const skipsEnv = "KILN_SKIPS"

// skip ends a test that needs what is not here, and says so where it is read.
func skip(tb testing.TB, format string, args ...any) {
	tb.Helper()
	reason := fmt.Sprintf(format, args...)
	if name := os.Getenv(skipsEnv); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			tb.Fatal(err)
		}
		_, err = fmt.Fprintf(f, "%s: %s\n", tb.Name(), reason)
		if closed := f.Close(); err != nil || closed != nil {
			tb.Fatal(err, closed)
		}
	}
	tb.Skip(reason)
}
