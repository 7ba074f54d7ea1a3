package setup

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
)

// answers are the settings that peer init asks for.
type answers struct {
	Name     string // of the run, and of its files
	Machines int
	Data     string // of a data set, or a path
	Own      bool   // Data is a path
	Link     string // rate of the slowest link, like 100mbit
	Rounds   int    // 0: as many as suit the data
	Views    bool   // machines may come and go

	suit   suit   // of data of the user
	label  string // column of the classes, "" for the usual one
	encode bool   // the table has texts, or values are missing
}

// alone reports whether one machine has all workers.
func (a answers) alone() bool { return a.Machines == 1 }

// workers returns the number of workers of the run. A machine alone has some, so that there is gossip. A run has two at
// least, whatever the number of machines will be.
func (a answers) workers() int {
	const own, least = 4, 2
	if a.alone() {
		return own
	}
	return max(a.Machines, least)
}

// A Question is one of peer init. Its flag answers it as well.
type Question struct {
	Flag  string
	Usage string // of the flag, with the kind of its value in backquotes
	text  string
	usual func(others int, free func(string) bool) string // suggested answer, "" without one
	take  func(*answers, string) error

	between bool // about links and members: one machine alone needs no answer
}

// Questions returns the questions of peer init in their order.
func Questions() []Question {
	always := func(answer string) func(int, func(string) bool) string {
		return func(int, func(string) bool) string { return answer }
	}
	return []Question{
		{Flag: "name", Usage: "`name` of the run and of its two files (default: lan)",
			text:  "Name of the run and of its files",
			usual: func(_ int, free func(string) bool) string { return freeName(free) }, take: takeName},
		{Flag: "machines", Usage: "`number` of machines that take part, this one included",
			text: "Machines that take part, this one included; 1 is this one alone", usual: usualMachines, take: takeMachines},
		{Flag: "data", Usage: "`name` of a data set, or of a file or folder of yours (default: glyphs)",
			text: "Data: " + strings.Join(describe.SetNames(), ", ") + ", or a file or folder of yours", usual: always("glyphs"),
			take: takeData},
		{Flag: "link", Usage: "`rate` of the slowest link: a slow one gets fewer bits (default: 100mbit)",
			text:  "Rate of the slowest link between the machines, like 1gbit, 100mbit, 5mbit",
			usual: always("100mbit"), take: takeLink, between: true},
		{Flag: "rounds", Usage: "`number` of rounds of training (default: auto, as many as suit the data)",
			text: "Rounds of training", usual: always(suitable), take: takeRounds},
		{Flag: "membership", Usage: "`mode`: with view machines come and go (default: fixed)",
			text:  "Membership: fixed, or view = machines may join and leave while the run goes on",
			usual: always("fixed"), take: takeMembership, between: true},
	}
}

// freeName suggests a name that no file of this folder has.
func freeName(free func(string) bool) string {
	const most = 100
	if free(usualName) {
		return usualName
	}
	for n := 2; n < most; n++ {
		if name := fmt.Sprintf("%s-%d", usualName, n); free(name) {
			return name
		}
	}
	return ""
}

func usualMachines(others int, _ func(string) bool) string { return strconv.Itoa(1 + others) }

func takeName(a *answers, text string) error {
	if !handover.ValidName(text) {
		return fmt.Errorf("%q: want letters, digits, - and _, at most 40 of them, because files have this name", text)
	}
	a.Name = text
	return nil
}

func takeMembership(a *answers, text string) error {
	if text != "fixed" && text != "view" {
		return advice.OneOf("membership", text, []string{"fixed", "view"})
	}
	a.Views = text == "view"
	return nil
}

func takeMachines(a *answers, text string) (err error) {
	a.Machines, err = number(text, 1, 1+handover.MostSeats)
	return err
}

// suitable is the answer that leaves the number of rounds to the program.
const suitable = "auto"

func takeRounds(a *answers, text string) (err error) {
	if a.Rounds = 0; text == suitable {
		return nil
	}
	a.Rounds, err = number(text, 1, 1_000_000_000)
	return err
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want a number from %d to %d", text, least, most)
	}
	return n, nil
}

// takeData accepts a data set that is on this machine, or a path.
func takeData(a *answers, text string) error {
	a.Data, a.Own, a.label = text, false, ""
	if slices.Contains(describe.SetNames(), text) {
		dir, err := data.Root("")
		if err != nil {
			return err
		}
		source, err := data.Open(text, dir)
		if err != nil {
			return err
		}
		return source.Find()
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil || text == "" {
		return advice.OneOf("data", text, append(describe.SetNames(), "the name of a file or folder that exists"))
	}
	a.Data, a.Own = path, true
	return nil
}

func takeLink(a *answers, text string) error {
	if rate, err := configs.ParseRate(text); err != nil || rate <= 0 {
		return fmt.Errorf("%q: want a rate like 1gbit, 100mbit or 500kbit", text)
	}
	a.Link = text
	return nil
}

// bits returns the bits per parameter for the slowest link: 8 and 4 bits cost no accuracy in our measurements, 2 cost
// little (docs/choosing.md).
func (a answers) bits() int {
	rate, err := configs.ParseRate(a.Link)
	switch {
	case err != nil || rate >= 100e6:
		return 8
	case rate >= 10e6:
		return 4
	}
	return 2
}

// Run files have these, if neither the user nor the data say more.
const (
	usualName   = "lan"
	usualMost   = 16 // members
	usualBatch  = 32
	usualRounds = 300
)

// A commented is a run file with comments beside its keys.
type commented struct{ strings.Builder }

func (c *commented) line(text, comment string) {
	if comment != "" {
		text = fmt.Sprintf("%-32s # %s", text, comment)
	}
	c.WriteString(strings.TrimRight(text, " ") + "\n")
}

// training writes the sections of the model and of its training.
func (a answers) training(line func(text, comment string)) {
	s := a.suit
	if s == (suit{}) {
		s.hidden = narrow
	}
	line("\nmodel:", "")
	if s.hidden == 0 {
		line("  name: logistic", "with few rows of two classes, more learns them by heart")
	} else {
		line("  name: mlp", "")
		line(fmt.Sprintf("  hidden: [%d]", s.hidden), "units of the hidden layers")
	}
	line("\ntrain:", "")
	line(fmt.Sprintf("  rounds: %d", cmp.Or(a.Rounds, s.rounds, usualRounds)), "")
	line(fmt.Sprintf("  batch: %d", cmp.Or(s.batch, usualBatch)), "samples of a worker in a round")
	line("  step_size: 0.05", "")
	if a.Own {
		line("  momentum: 0.9", "")
		line("  weight_decay: 0.01", "keeps a model from learning rows by heart")
	}
}

// RunFile returns a run file with comments.
func (a answers) RunFile() string {
	var b commented
	line := b.line
	file := a.Name + runEnding
	parts := "machines that take part"
	if a.alone() {
		parts = "processes on this machine"
		line(fmt.Sprintf("# A run on one machine, made by peer init. \"peer lab %s\" starts it.", file), "")
	} else {
		line(fmt.Sprintf("# A run of %d machines, made by peer init. \"peer run %s\" on each of them starts it.", a.Machines,
			file), "")
		line(fmt.Sprintf("# All have the same file, but for the section node: \"peer invite %s\" hands it over.", file), "")
	}
	line("name: "+a.Name, "peers of one name look for each other")
	line("\ntopology:", "")
	line("  kind: ring", fmt.Sprintf("or complete, star, ...: see peer topology show all:%d", a.workers()))
	line(fmt.Sprintf("  size: %d", a.workers()), parts)
	if a.Views {
		line("\nmembership:", "")
		line("  mode: view", "machines may join, leave and die while the run goes on")
		line("  min: 1", "with fewer members all wait")
		line(fmt.Sprintf("  max: %d", max(usualMost, 2*a.workers())), "no more are admitted")
	}
	line("\nalgorithm:", "")
	line("  name: dpsgd", "peer config reference has the others")
	line(fmt.Sprintf("  bits: %d", a.bits()), fmt.Sprintf("per parameter, for links of %s and more; 32 = full precision",
		a.Link))
	line("\ndata:", "")
	if a.Own {
		line("  name: file", "samples of your own")
		line("  path: "+strconv.Quote(a.Data), "on this machine")
		if a.label != "" {
			line("  label: "+strconv.Quote(a.label), "the column of the classes")
		}
		if a.suit.standardise || a.encode {
			line("  standardise: true", "columns get mean 0 and deviation 1")
		}
		if a.encode {
			line("  encode: true", "texts become columns of 0 and 1, missing numbers the mean")
		}
	} else {
		line("  name: "+a.Data, "peer data list names all")
	}
	a.training(line)
	if !a.alone() {
		line("\nnode:", "")
		line("  join_secret_file: "+a.Name+secretEnding, "the machines that hold it belong to the run: keep it secret")
	}
	line("\n# All other keys: peer config reference", "")
	return b.String()
}
