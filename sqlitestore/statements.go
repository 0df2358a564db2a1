package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"strconv"
	"strings"
	"sync"

	"github.com/kilnjobs/kiln/storekit"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

//go:embed migrations/*.sql
var migrationFiles embed.FS

// querier runs SQL: the writer's connection, an application's transaction, or a connection for reading.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rowMark is the tuple that statements for several rows contain once.
const rowMark = "(?"

// chunks are the numbers of rows per statement of many: each is prepared once, and any number is made of few of them.
var chunks = [...]int{256, 64, 16, 4, 1}

// texts holds the statements of one prefix, and those for several rows as they are made.
type texts struct {
	storekit.Statements

	mu   sync.Mutex
	many map[string]string
}

func newTexts(prefix string) (*texts, error) {
	s, err := storekit.ParseStatements(sqlFiles, "sql", prefix)
	return &texts{Statements: s, many: map[string]string{}}, err
}

// rows is the statement name with its last tuple repeated n times.
func (t *texts) rows(name string, n int) string {
	if n == 1 {
		return t.SQL(name)
	}
	key := name + " " + strconv.Itoa(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	text, ok := t.many[key]
	if !ok {
		text = repeatTuple(t.SQL(name), n)
		t.many[key] = text
	}
	return text
}

// repeatTuple repeats the last tuple of placeholders, as in "values (?, ?)".
func repeatTuple(text string, n int) string {
	at := strings.LastIndex(text, rowMark)
	end := at + strings.IndexByte(text[at:], ')') + 1
	tuple := text[at:end]
	return text[:end] + strings.Repeat(", "+tuple, n-1) + text[end:]
}
