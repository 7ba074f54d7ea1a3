#!/usr/bin/env bash
# Lets the tools of Prometheus and Grafana read the metrics of a lab and the files of deploy. Tools that are not
# installed are skipped, loudly; it fails where one of them objects.
#
#   test/readers/metrics.sh [PEER]
#
# promtool (package prometheus) checks the text format, the configuration, the rules, what they make of series
# (alerts.yml), and the expressions of the dashboard. The parser of python3-prometheus-client checks OpenMetrics. The
# TypeScript compiler checks the dashboard against the types of the package @grafana/schema, if GRAFANA_SCHEMA is a
# folder with both in node_modules.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
lab=
cleanup() {
  [ -z "$lab" ] || { kill -INT "$lab" 2>/dev/null && wait "$lab"; } || true
  rm -rf "$work"
}
trap cleanup EXIT
peer=${1:-$work/peer}
[ $# -gt 0 ] || go build -o "$peer" ./cmd/peer
python=${PEER_PYTHON:-/usr/bin/python3}

port=${METRICS_PORT:-19464}
"$peer" -q lab ring8 --set train.rounds=1000000 --set topology.size=3 --set node.metrics=127.0.0.1:"$port" \
  --set output.dir="$work/runs" >/dev/null 2>"$work/log" &
lab=$!
for _ in $(seq 240); do # until a worker has finished a round
  curl -sf "http://127.0.0.1:$((port + 1))/metrics" >"$work/text" && grep -q '^gossip_loss{' "$work/text" && break
  kill -0 "$lab" || { cat "$work/log" >&2; exit 1; }
  read -rt 0.5 <> <(:) || true
done
curl -sf -H 'Accept: application/openmetrics-text;version=1.0.0' "http://127.0.0.1:$((port + 1))/metrics" >"$work/open"

if command -v promtool >/dev/null; then
  promtool check metrics <"$work/text"
  promtool check config deploy/prometheus/prometheus.yml
  promtool check rules deploy/prometheus/alerts.yml
  promtool test rules test/readers/alerts.yml
  "$python" - deploy/grafana/gossiptrainer.json >"$work/panels.yml" <<'EOF'
import json, sys
rules = [{"record": "panel:%d:%s" % (panel["id"], target["refId"]), "expr": target["expr"]}
         for panel in json.load(open(sys.argv[1]))["panels"] for target in panel["targets"]]
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
EOF
  promtool check rules "$work/panels.yml"
else
  echo "SKIPPED: promtool: apt install prometheus" >&2
fi

if "$python" -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
  "$python" - "$work/open" <<'EOF'
import sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families as read
families = {f.name: f for f in read(open(sys.argv[1]))}
ours = [f for name, f in families.items() if name.startswith("gossip_")]
units = sorted({f.unit for f in ours if f.unit})
assert ours and units == ["bytes", "seconds"], units
print("OpenMetrics: %d families, %d of them ours, with %d samples; units: %s" % (
    len(families), len(ours), sum(len(f.samples) for f in ours), ", ".join(units)))
EOF
else
  echo "SKIPPED: OpenMetrics: apt install python3-prometheus-client" >&2
fi

if [ -n "${GRAFANA_SCHEMA:-}" ]; then
  types=$(cd "$GRAFANA_SCHEMA" && pwd)/node_modules
  {
    echo "import type { Dashboard } from '$types/@grafana/schema/dist/types/raw/dashboard/x/types.gen'"
    echo "export const board: Dashboard = $(cat deploy/grafana/gossiptrainer.json)"
  } >"$work/board.ts"
  "$types/.bin/tsc" --noEmit --strict --skipLibCheck --moduleResolution bundler --module esnext --target es2022 \
    "$work/board.ts"
  echo "the dashboard has the types of @grafana/schema $("$python" -c 'import json, sys
print(json.load(open(sys.argv[1]))["version"])' "$types/@grafana/schema/package.json")"
else
  echo "SKIPPED: the types of Grafana: npm install @grafana/schema typescript, and GRAFANA_SCHEMA" >&2
fi
