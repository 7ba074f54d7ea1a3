package docs

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/registry"
)

// The tables of the documents, in Markdown, one line per row.

// algorithmTable describes the algorithms.
func algorithmTable() string {
	head := []string{
		"name", "algorithm", "paper", "extra vectors", "sent per round", "mean moves by gradients alone",
		"codecs", "compressor", "local steps", "reweight", "controller",
	}
	var rows [][]string
	for _, a := range registry.Algorithms() {
		paper := a.Text.Paper
		if a.ByMoniqua() {
			paper += "; the codec moniqua " + registry.MoniquaPaper
		}
		rows = append(rows, []string{
			quoted([]string{a.Name}), a.Text.Title, paper, vectorsText(a.Vector), a.Text.Sent, a.Text.Mean,
			quoted(a.Sends.Codecs), sendsText(a.Sends),
			given(a.Takes.LocalSteps), given(a.Takes.Reweight), given(a.Takes.Controller),
		})
	}
	return markdown(head, rows)
}

// choiceTable says what an algorithm sends, and on which graphs it runs.
func choiceTable() string {
	var rows [][]string
	for _, a := range registry.Algorithms() {
		sends := "full precision"
		switch {
		case slices.Contains(a.Sends.Codecs, registry.Moniqua):
			sends += ", or Moniqua"
		case a.Sends.Compressor != registry.NoCompressor:
			sends = "compressed: " + sendsText(a.Sends)
		}
		graph := "any"
		switch {
		case a.On.Kind != "":
			graph = "its own: " + string(a.On.Kind)
		case a.On.Need != "":
			graph += " that has " + a.On.Need
		}
		title, name := a.Text.Title, quoted([]string{a.Name})
		if a.Form != "" {
			title, name = "all-reduce, "+title, name+", `reduce: "+a.Form+"`"
		}
		rows = append(rows, []string{title, name, sends, graph})
	}
	return markdown([]string{"algorithm", "`algorithm.name`", "what travels", "graph"}, rows)
}

// compressorTable describes the result of each compressor.
func compressorTable() string {
	head := []string{"name", "C(z), per bucket", "unbiased", "contraction", "paper"}
	return described(head, func(t registry.CompressorText) []string {
		return []string{t.Value, t.Unbiased, t.Contraction, t.Paper}
	})
}

// bucketTable describes the payloads with buckets.
func bucketTable() string {
	return described([]string{"name", "header of a bucket", "N", "symbol"}, func(t registry.CompressorText) []string {
		if t.Header == "" {
			return nil
		}
		return []string{t.Header, t.Levels, t.Payload}
	})
}

// plainTable describes the payloads without buckets.
func plainTable() string {
	return described([]string{"name", "payload"}, func(t registry.CompressorText) []string {
		if t.Header != "" {
			return nil
		}
		return []string{t.Payload}
	})
}

// described has one row for neighbouring rows with the same cells; nil leaves a row out.
func described(head []string, cells func(registry.CompressorText) []string) string {
	var rows [][]string
	var names []string
	compressors := registry.Compressors()
	for i, c := range compressors {
		names = append(names, c.Name)
		if i+1 < len(compressors) && compressors[i+1].Text == c.Text {
			continue
		}
		if more := cells(c.Text); more != nil {
			rows = append(rows, append([]string{quoted(names)}, more...))
		}
		names = nil
	}
	return markdown(head, rows)
}

func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		for i, cell := range row {
			if cell == "" {
				row[i] = none
			}
		}
		line(row)
	}
	return b.String()
}

// none stands in cells without content.
const none = "–"

func quoted(names []string) string {
	if len(names) == 0 {
		return none
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func given(p registry.Permission) string {
	if p.Given {
		return "yes"
	}
	return none
}

// sendsText names the compressors that suit.
func sendsText(s registry.Sends) string {
	if s.Compressor == registry.UnbiasedSum {
		return "unbiased, or with feedback"
	}
	return s.Compressor.String()
}

// vectorsText counts the vectors: deg + 1.
func vectorsText(v registry.Vectors) string {
	var text string
	switch {
	case v.Neighbour == 0:
		text = fmt.Sprint(v.Own)
	case v.Own == 0:
		text = "deg"
	default:
		text = fmt.Sprintf("deg + %d", v.Own)
	}
	if v.Neighbour > 1 {
		text = fmt.Sprint(v.Neighbour, " ", text)
	}
	if v.Kind != "" {
		text += " " + v.Kind
	}
	if v.Feedback > 0 {
		text += fmt.Sprintf(", %d with feedback", v.Own+v.Feedback)
	}
	return text
}
