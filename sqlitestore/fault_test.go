package sqlitestore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	modernc "modernc.org/sqlite"
)

// hook sees every statement before SQLite does, and may fail it instead. It is called by one goroutine at a time.
type hook func(query string) error

// hookedPool is a pool whose statements go through a hook, which may be changed at any time.
type hookedPool struct {
	*sql.DB
	mu   sync.Mutex
	hook hook
}

func (p *hookedPool) set(h hook) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = h
}

func (p *hookedPool) before(query string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hook == nil {
		return nil
	}
	return p.hook(query)
}

func newHookedPool(t testing.TB) *hookedPool {
	return openHookedPool(t, filepath.Join(t.TempDir(), "jobs.db"))
}

func openHookedPool(t testing.TB, path string) *hookedPool {
	t.Helper()
	p := &hookedPool{}
	p.DB = sql.OpenDB(&connector{p, "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=synchronous(normal)"})
	t.Cleanup(func() { p.Close() })
	return p
}

type connector struct {
	pool *hookedPool
	dsn  string
}

func (c *connector) Driver() sqldriver.Driver { return &modernc.Driver{} }

func (c *connector) Connect(context.Context) (sqldriver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &hookedConn{conn.(moderncConn), c.pool}, nil
}

// moderncConn is what the driver's connections can do.
type moderncConn interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

type hookedConn struct {
	moderncConn
	pool *hookedPool
}

func (c *hookedConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if err := c.pool.before(query); err != nil {
		return nil, err
	}
	return c.moderncConn.ExecContext(ctx, query, args)
}

func (c *hookedConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if err := c.pool.before(query); err != nil {
		return nil, err
	}
	return c.moderncConn.QueryContext(ctx, query, args)
}

func (c *hookedConn) PrepareContext(ctx context.Context, query string) (sqldriver.Stmt, error) {
	stmt, err := c.moderncConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &hookedStmt{stmt.(moderncStmt), c.pool, query}, nil
}

type moderncStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

type hookedStmt struct {
	moderncStmt
	pool  *hookedPool
	query string
}

func (s *hookedStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if err := s.pool.before(s.query); err != nil {
		return nil, err
	}
	return s.moderncStmt.ExecContext(ctx, args)
}

func (s *hookedStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if err := s.pool.before(s.query); err != nil {
		return nil, err
	}
	return s.moderncStmt.QueryContext(ctx, args)
}

// counter is a hook that counts statements.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) hook(query string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[strings.Join(strings.Fields(query), " ")]++
	return nil
}

// take returns the counts since the last take.
func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = nil
	return n
}
