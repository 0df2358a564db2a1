package pgstore

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgxQuerier is a pgx connection, pool or transaction.
type pgxQuerier struct {
	db interface {
		Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	}
}

func (q pgxQuerier) exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := q.db.Exec(ctx, text, args...)
	return tag.RowsAffected(), err
}

func (q pgxQuerier) query(ctx context.Context, text string, args ...any) (rows, error) {
	return q.db.Query(ctx, text, args...)
}

// sqlQuerier is a transaction of database/sql on pgx's driver for that.
type sqlQuerier struct{ tx *sql.Tx }

func (q sqlQuerier) exec(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := q.tx.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (q sqlQuerier) query(ctx context.Context, text string, args ...any) (rows, error) {
	found, err := q.tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return sqlRows{found}, nil
}

type sqlRows struct{ *sql.Rows }

func (r sqlRows) Close() { r.Rows.Close() }

// Scan reads lists of numbers too, which database/sql knows nothing of.
func (r sqlRows) Scan(dest ...any) error {
	for i := range dest {
		if list, ok := dest[i].(*[]int64); ok {
			dest[i] = pgtype.NewMap().SQLScanner(list)
		}
	}
	return r.Rows.Scan(dest...)
}
