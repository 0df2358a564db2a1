package pgstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// TestVersions works on every version of PostgreSQL that the store is for, through a crash. ./test runs the suite on them too.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, major := range []int{14, 15, 16, 17, 18} {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			pg := pgserver.Start(t, major)
			t.Logf("PostgreSQL %s", pg.Programs().Full)
			s := openAt(t, pg.DSN("postgres"))
			for _, mode := range execModes {
				round(t, openAt(t, pg.DSN("postgres"), Schema(fmt.Sprint("s", int(mode))), ExecMode(mode)))
			}
			l := newLedger()
			l.work(t, s, kiln.ServerConfig{}, 2*time.Millisecond)
			stop := l.feed(t, kiln.NewClient(s), 4, 5*time.Millisecond)
			l.more(t, comeback, 50)
			pg.Kill9()
			pg.Start()
			l.more(t, comeback, 50)
			stop()
			l.judge(t, s, comeback)
		})
	}
}
