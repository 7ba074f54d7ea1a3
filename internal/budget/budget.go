// Package budget is a stub.
package budget

// MostCopied is the largest state, in bytes, of which a worker with checkpoints keeps a copy in memory.
const MostCopied = 32 << 20
