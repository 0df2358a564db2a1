module github.com/kilnjobs/kiln

go 1.26.0
