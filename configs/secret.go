package configs

import (
	"regexp"
	"strings"
)

// Masked stands for a join secret wherever a run file or a command line is shown or stored.
const Masked = "***"

// WithoutSecrets returns the configuration as it may be shown and stored.
func (c Config) WithoutSecrets() Config {
	if c.Node.JoinSecret != "" {
		c.Node.JoinSecret = Masked
	}
	return c
}

var (
	givenSecret = regexp.MustCompile(`(?s)\bnode\.join_secret=.*`)
	innerSecret = regexp.MustCompile(`(\bjoin_secret["']?\s*:\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}#]+)`)
)

// Mask hides the join secret in a word of a command line or a line of a run file.
func Mask(text string) string {
	text = givenSecret.ReplaceAllString(text, "node.join_secret="+Masked)
	return innerSecret.ReplaceAllString(text, "${1}"+Masked)
}

// maskLine is Mask for an excerpt, in which places must stay where they are.
func maskLine(text string) string {
	for _, at := range innerSecret.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[4], at[5]
		text = text[:from] + strings.Repeat("*", to-from) + text[to:]
	}
	return text
}
