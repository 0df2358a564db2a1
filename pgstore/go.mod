module github.com/kilnjobs/kiln/pgstore

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/kilnjobs/kiln v0.0.0
)

replace github.com/kilnjobs/kiln => ../
