#!/usr/bin/env bash
# Checks a release folder: release/check.sh FOLDER. Sums, the security of the unit, and the .deb of this machine, which is
# installed into an empty root, runs there, and is removed without a trace. The wheel trains in an empty environment.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(cd "$1" && pwd)
arch=$(go env GOARCH)
(cd "$out" && sha256sum --quiet -c SHA256SUMS)

if command -v systemd-analyze > /dev/null; then
	systemd-analyze security --offline=true --threshold=25 "$out/peer@.service" > /dev/null ||
		{ echo 'the unit is exposed by more than 2.5: see systemd-analyze security --offline=true' >&2; exit 1; }
else
	echo 'no systemd-analyze: THE UNIT WAS NOT CHECKED' >&2
fi

# The wheel brings the program and the module into an empty environment, where both work.
if ! command -v python3 > /dev/null; then
	echo 'no python3: THE WHEEL WAS NOT INSTALLED' >&2
else
	environment=$(mktemp -d)
	python3 -m venv "$environment" > "$environment.log" 2>&1 || { echo 'no venv: THE WHEEL WAS NOT INSTALLED' >&2; environment=; }
	if [ -n "$environment" ]; then
		case $arch in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; *) machine=$arch ;; esac
		"$environment/bin/pip" install -q --no-index --disable-pip-version-check "$out"/gossiptrainer-*manylinux*"$machine"*.whl
		(cd "$environment" && bin/python -c 'import gossiptrainer; assert gossiptrainer.init().size == 1' 2> /dev/null &&
			bin/python -m gossiptrainer lab ring8 --set train.rounds=20 --json > summary 2> log) ||
			{ cat "$environment/summary" "$environment/log" >&2; exit 1; }
		grep -o '"digest":"[0-9a-f]*"' "$environment/summary"
		rm -rf "$environment" "$environment.log"
	fi
fi

if ! command -v dpkg > /dev/null; then
	echo 'no dpkg: THE PACKAGE WAS NOT INSTALLED' >&2
	exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/dev"
: > "$root/var/lib/dpkg/status"
: > "$root/var/lib/dpkg/available"
listing() { (cd "$root" && find . -path ./var/lib/dpkg -prune -o -print | sort); }
# Other programs run in the empty root for packages with scripts; this one has none.
package() { unshare --user --map-root-user dpkg --root="$root" --force-not-root --force-script-chrootless "$@"; }
if ! unshare --user --map-root-user true 2> /dev/null; then
	echo 'no user namespaces: THE PACKAGE WAS NOT INSTALLED' >&2
	exit 0
fi
listing > "$scratch/before"
package --install "$out/gossiptrainer-linux-$arch.deb" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
# The root holds no library and no shell: the program brings what it needs, but for /proc and /dev of the kernel.
mkdir -p "$root/data" "$root/proc"
peer() {
	env -i HOME=/data TMPDIR=/data XDG_RUNTIME_DIR=/data TERM=dumb PATH="$PATH" unshare --user --map-root-user --mount \
		sh -ec 'root=$1; shift; mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"; cd "$root/data"
			exec chroot "$root" /usr/bin/peer "$@"' - "$root" "$@"
}
peer lab ring8 --set train.rounds=20 --set output.dir=/data/runs --json \
	> "$scratch/summary" 2> "$scratch/log" || { cat "$scratch/summary" "$scratch/log" >&2; exit 1; }
grep -o '"digest":"[0-9a-f]*"' "$scratch/summary"
# The pages that a doctor of a machine without data and secret names are in the package.
peer doctor lan-ring --wait 1ms --set data.name=mnist > "$scratch/log" 2>&1 && { echo 'the doctor of an empty root complains of nothing' >&2; exit 1; }
pages=$(sed -n 's/^ *see: \([^#]*\)#.*/\1/p' "$scratch/log" | sort -u)
[ -n "$pages" ] || { cat "$scratch/log" >&2; exit 1; }
for page in $pages; do
	[ -f "$root/$page" ] || { echo "the package lacks $page, which the program names" >&2; exit 1; }
done
rm -rf "$root/data" "$root/proc"
package --purge gossiptrainer > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
listing | diff "$scratch/before" - || { echo 'the package has left files behind' >&2; exit 1; }
