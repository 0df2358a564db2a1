# Everything is in ./test; this file only gives it the names that people type.
.PHONY: test short fmt bench

test:
	./test

short:
	./test -short

fmt:
	gofmt -l -w .

bench:
	go test -run '^$$' -bench . ./memstore
