package docs

var (
	records, checkpoints, journals map[string]decoder
)
