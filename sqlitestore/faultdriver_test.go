package sqlitestore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	modernc "modernc.org/sqlite"
)

// A step is a call of the driver under a pool, before SQLite sees it or after SQLite has done it.
type step struct {
	// does is open, prepare, exec, query or next.
	does  string
	query string
	args  []sqldriver.NamedValue
	// after says that the call was done and its answer is on its way back.
	after bool
}

// rule may fail a step. An error before a call keeps the call from SQLite; one after it only loses the answer. Rules are
// called by one goroutine at a time.
type rule func(s step) error

// hook is a rule for what comes before statements.
type hook func(query string) error

// hookedPool is a pool whose calls go through a rule, which may be changed at any time.
type hookedPool struct {
	*sql.DB
	mu   sync.Mutex
	rule rule
	// opened and closed count connections, leaked those that were closed before their statements.
	opened, closed, leaked atomic.Int64
}

func (p *hookedPool) obey(r rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = r
}

func (p *hookedPool) set(h hook) {
	if h == nil {
		p.obey(nil)
		return
	}
	p.obey(func(s step) error {
		if s.after || s.does != "exec" && s.does != "query" {
			return nil
		}
		return h(s.query)
	})
}

func (p *hookedPool) judge(s step) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rule == nil {
		return nil
	}
	return p.rule(s)
}

// through makes a call of SQLite as the pool's rule wants it.
func through[T any](p *hookedPool, s step, call func() (T, error)) (T, error) {
	var none T
	if err := p.judge(s); err != nil {
		return none, err
	}
	out, err := call()
	if err != nil {
		return out, err
	}
	s.after = true
	if err := p.judge(s); err != nil {
		if c, ok := any(out).(interface{ Close() error }); ok {
			c.Close()
		}
		return none, err
	}
	return out, nil
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
	return through(c.pool, step{does: "open"}, func() (sqldriver.Conn, error) {
		conn, err := c.Driver().Open(c.dsn)
		if err != nil {
			return nil, err
		}
		c.pool.opened.Add(1)
		return &hookedConn{conn.(moderncConn), c.pool, map[*hookedStmt]bool{}}, nil
	})
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
	open map[*hookedStmt]bool
}

// Close closes the statements too. A driver that says ErrBadConn means that the connection is gone with all it had open,
// which database/sql believes and does not close them.
func (c *hookedConn) Close() error {
	c.pool.closed.Add(1)
	if len(c.open) > 0 {
		c.pool.leaked.Add(1)
	}
	for s := range c.open {
		s.moderncStmt.Close()
	}
	return c.moderncConn.Close()
}

func (c *hookedConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return through(c.pool, step{does: "exec", query: query, args: args}, func() (sqldriver.Result, error) {
		return c.moderncConn.ExecContext(ctx, query, args)
	})
}

func (c *hookedConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return through(c.pool, step{does: "query", query: query, args: args}, func() (sqldriver.Rows, error) {
		rows, err := c.moderncConn.QueryContext(ctx, query, args)
		return hookRows(c.pool, query, rows, err)
	})
}

func (c *hookedConn) PrepareContext(ctx context.Context, query string) (sqldriver.Stmt, error) {
	return through(c.pool, step{does: "prepare", query: query}, func() (sqldriver.Stmt, error) {
		stmt, err := c.moderncConn.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		s := &hookedStmt{stmt.(moderncStmt), c, c.pool, query}
		c.open[s] = true
		return s, nil
	})
}

type moderncStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

type hookedStmt struct {
	moderncStmt
	conn  *hookedConn
	pool  *hookedPool
	query string
}

// Close implements driver.Stmt.
func (s *hookedStmt) Close() error {
	delete(s.conn.open, s)
	return s.moderncStmt.Close()
}

func (s *hookedStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return through(s.pool, step{does: "exec", query: s.query, args: args}, func() (sqldriver.Result, error) {
		return s.moderncStmt.ExecContext(ctx, args)
	})
}

func (s *hookedStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return through(s.pool, step{does: "query", query: s.query, args: args}, func() (sqldriver.Rows, error) {
		rows, err := s.moderncStmt.QueryContext(ctx, args)
		return hookRows(s.pool, s.query, rows, err)
	})
}

// hookedRows are rows that may fail in the middle.
type hookedRows struct {
	sqldriver.Rows
	pool  *hookedPool
	query string
}

func hookRows(p *hookedPool, query string, rows sqldriver.Rows, err error) (sqldriver.Rows, error) {
	if err != nil {
		return nil, err
	}
	return &hookedRows{rows, p, query}, nil
}

func (r *hookedRows) Next(dest []sqldriver.Value) error {
	if err := r.pool.judge(step{does: "next", query: r.query}); err != nil {
		return err
	}
	return r.Rows.Next(dest)
}
