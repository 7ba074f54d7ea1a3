package human

import "strings"

// LaTeX escapes text for LaTeX, on one line.
func LaTeX(text string) string {
	return strings.NewReplacer(
		"±", `$\pm$`, "²", `$^2$`, "<", `$<$`, ">", `$>$`, "\n", " ",
		"%", `\%`, "_", `\_`, "&", `\&`, "#", `\#`, "$", `\$`, "{", `\{`, "}", `\}`,
		"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, `\`, `\textbackslash{}`,
	).Replace(text)
}
