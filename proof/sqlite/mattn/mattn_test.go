package mattn

import (
	"testing"

	"github.com/kilnjobs/kiln/proof/sqlite"

	_ "github.com/mattn/go-sqlite3"
)

var under = sqlite.Driver{
	DSN:  func(path string) string { return "file:" + path + "?_busy_timeout=5000&_synchronous=NORMAL" },
	Bare: func(path string) string { return "file:" + path + "?_busy_timeout=0" },
}

func TestSuite(t *testing.T)  { under.Suite(t) }
func TestPools(t *testing.T)  { under.Pools(t) }
func TestBusy(t *testing.T)   { under.Busy(t) }
func TestCommit(t *testing.T) { under.Commit(t) }

func TestReadOnly(t *testing.T)       { under.ReadOnly(t) }
func TestOwnTransaction(t *testing.T) { under.OwnTransaction(t) }
func TestFractions(t *testing.T)      { under.Fractions(t) }
