# Daily work. Nothing here is needed to build: go build ./cmd/peer is enough.
TOOL = go tool -modfile=tools/go.mod
PREFIX ?= /usr/local

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sort | awk -F ':.*## ' '{printf "%-10s %s\n", $$1, $$2}'

build: ## build the program as ./peer
	CGO_ENABLED=0 go build -trimpath -o peer ./cmd/peer

test: ## run all tests
	go test ./...
	go -C internal/kernel/gen test ./...

check: ## format, vet, staticcheck, module files
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go mod tidy -diff
	go vet ./...
	$(TOOL) staticcheck ./...

vuln: ## look for known weaknesses in what the program calls
	$(TOOL) govulncheck ./...

nightly: ## the tests that take hours: fuzzing, faults, toys, networks
	.ci/nightly

ci: ## everything that must hold before a change comes in
	.ci/run

generate: ## write the assembly, the tables of the documents, the references, the man pages
	go generate ./internal/kernel
	go test ./internal/docs -run 'Rows|Claims' -update
	go test ./cmd/peer -run 'Reference|Outputs' -update

site: ## build the documentation as a site: site/html/index.html
	@tools/site/build.sh

bench: ## measure the codec, links, the simulator and a step on this machine
	go run ./cmd/peer bench codec
	go run ./cmd/peer bench link

release: ## build dist: programs, packages, checksums, licences
	release/build.sh dist

install: build ## install program, man pages and completions below PREFIX
	install -Dm 755 peer $(DESTDIR)$(PREFIX)/bin/peer
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 644 release/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	./peer completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/peer

uninstall: ## remove what install has installed
	rm -f $(DESTDIR)$(PREFIX)/bin/peer $(DESTDIR)$(PREFIX)/share/bash-completion/completions/peer
	for page in release/man/*.1; do rm -f $(DESTDIR)$(PREFIX)/share/man/man1/$$(basename $$page); done

clean: ## remove what was built
	rm -rf peer dist site

.PHONY: help build test check vuln nightly ci generate site bench release install uninstall clean
.DEFAULT_GOAL := help
