#!/usr/bin/env bash
# Builds a release folder: release/build.sh [FOLDER], by default dist. Of one commit and one Go version, two builds are
# the same byte for byte, wherever the checkout is. TARGETS="linux/amd64 ..." builds fewer programs.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:-dist}"
out=$(cd "${1:-dist}" && pwd)
[ -z "$(ls -A "$out")" ] || { echo "$out is not empty: name another folder" >&2; exit 1; }
targets=${TARGETS:-linux/amd64 linux/arm64 linux/riscv64 darwin/amd64 darwin/arm64 windows/amd64}

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
version=$(git describe --tags --match 'v*' --exact-match 2>/dev/null || true)
version=${version#v}
version=${version:-0.0.0~$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd).$(git rev-parse --short=12 HEAD)}
[ -z "$(git status --porcelain)" ] || echo "warning: the working tree differs from its commit" >&2
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C CGO_ENABLED=0 GOFLAGS= GOEXPERIMENT= GOWORK=off
export GOAMD64=v1 GOARM64=v8.0 GORISCV64=rva20u64

# build OS/ARCH: a static program without symbols and without names of folders.
build() {
	local os=${1%/*} arch=${1#*/} suffix=
	[ "$os" != windows ] || suffix=.exe
	GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=true -ldflags='-s -w -buildid=' \
		-o "$out/peer-$os-$arch$suffix" ./cmd/peer
}
for target in $targets; do build "$target"; done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -trimpath -buildvcs=false -o "$scratch/peer" ./cmd/peer
mkdir "$out/completions" "$out/man"
for shell in bash zsh fish; do "$scratch/peer" completion "$shell" > "$out/completions/peer.$shell"; done
for page in release/man/*.1; do gzip -9n < "$page" > "$out/man/$(basename "$page").gz"; done
# The lines "see:" of errors and warnings name the documents.
find docs \( -name '*.md' -o -name models.py \) -exec cp --parents -t "$out" {} +
cp release/peer@.service release/Containerfile LICENSE "$out"
go run -trimpath ./release "$out"

nfpm=$(go tool -n -modfile=tools/go.mod nfpm)
for target in $targets; do
	arch=${target#linux/}
	[ "$arch" != "$target" ] || continue
	for kind in deb rpm; do
		PACKAGE_ARCH=$arch PACKAGE_VERSION=$version nfpm=$nfpm sh -c 'cd "$1" && "$nfpm" package -f "$2" -p "$3" -t "$4"' \
			- "$out" "$PWD/release/nfpm.yaml" "$kind" "$out/gossiptrainer-linux-$arch.$kind" > "$scratch/log" ||
			{ cat "$scratch/log" >&2; exit 1; }
	done
done
(cd "$out" && find . -type f ! -name SHA256SUMS | sort | sed 's|^\./||' | xargs sha256sum > SHA256SUMS)
find "$out" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
