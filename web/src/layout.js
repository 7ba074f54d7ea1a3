// Where the workers of a graph stand. All positions are in a square from −1 to 1.

/**
 * Positions [x, y] of n workers. The form is { kind, cols }: the name of the topology, such as ring or torus, and the
 * columns of a torus, if the server tells them. Edges are pairs of ranks.
 */
export function layout({ kind, cols }, n, edges) {
  if (n === 1) {
    return [[0, 0]];
  }
  switch (kind) {
    case "torus":
      return lattice(n, cols || columnsOf(n, edges));
    case "path":
      return n > 12 ? circle(n) : Array.from({ length: n }, (_, i) => [(2 * i) / (n - 1) - 1, 0]);
    case "star":
      return [[0, 0], ...circle(n - 1)];
    default:
      return circle(n);
  }
}

/** Whether an edge of a lattice goes around it, from the last column or row to the first. */
export function wraps({ kind, cols }, [ax, ay], [bx, by], n, edges) {
  if (kind !== "torus") {
    return false;
  }
  const columns = cols || columnsOf(n, edges);
  const rows = Math.ceil(n / columns);
  const [dx, dy] = [Math.abs(ax - bx), Math.abs(ay - by)];
  return (columns > 2 && dx > 2.5 / (columns - 1)) || (rows > 2 && dy > 2.5 / (rows - 1));
}

function circle(n) {
  return Array.from({ length: n }, (_, i) => {
    const angle = (2 * Math.PI * i) / n - Math.PI / 2;
    return [Math.cos(angle), Math.sin(angle)];
  });
}

function lattice(n, columns) {
  const rows = Math.ceil(n / columns);
  const at = (i, of) => (of > 1 ? (2 * i) / (of - 1) - 1 : 0);
  return Array.from({ length: n }, (_, i) => [at(i % columns, columns), at(Math.floor(i / columns), rows)]);
}

/**
 * Columns of a lattice: rank 0 is joined to the first rank of the second row, and rank 1 to the one beside it. Without
 * such a step, the squarest divisor.
 */
function columnsOf(n, edges) {
  const known = new Set(edges.map(([a, b]) => Math.min(a, b) * n + Math.max(a, b)));
  for (let step = 2; step < n; step++) {
    if (n % step === 0 && known.has(step) && (step + 1 >= n || known.has(n + step + 1))) {
      return step;
    }
  }
  let columns = Math.ceil(Math.sqrt(n));
  while (n % columns !== 0) {
    columns++;
  }
  return columns;
}
