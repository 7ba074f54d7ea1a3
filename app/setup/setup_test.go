package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/app/status"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/model/sample"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
)

// screen returns a screen on which these lines are typed.
func screen(lines string) (Screen, *bytes.Buffer) {
	talk := new(bytes.Buffer)
	return Screen{
		In: strings.NewReader(lines), Talk: talk, Interactive: lines != "", Log: slog.New(slog.DiscardHandler),
		Print: func(_ any, text func(io.Writer) error) error { return text(talk) },
	}, talk
}

// folder makes an empty folder the present one.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

// names returns the files of a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range all {
		out = append(out, f.Name())
	}
	return strings.Join(out, " ")
}

func TestRunFilesOfAnswersAreAccepted(t *testing.T) {
	folder(t)
	if err := os.WriteFile("own.csv", []byte("a,label\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, bits := range map[string]int{"1gbit": 8, "100mbit": 8, "99mbit": 4, "10mbit": 4, "9mbit": 2, "300kbit": 2} {
		for _, data := range []string{"glyphs", "own.csv"} {
			var a answers
			for n, text := range []string{"my-run", "5", data, link, "70"} {
				if err := Questions()[n].take(&a, text); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile("my-run.yaml", []byte(a.RunFile()), 0o644); err != nil {
				t.Fatal(err)
			}
			l, err := configs.Load(configs.Source{File: "my-run.yaml"})
			if err != nil {
				t.Fatalf("%v\n%s", err, a.RunFile())
			}
			c := l.Config
			if c.Name != "my-run" || c.Topology.Size != 5 || c.Algorithm.Bits != bits || c.Train.Rounds != 70 ||
				c.Node.JoinSecretFile != "my-run.secret" || c.Data.Own() != (data == "own.csv") {
				t.Errorf("%s, %s: %+v", link, data, c)
			}
			for line := range strings.Lines(a.RunFile()) {
				if strings.Contains(line, ":") && !strings.Contains(line, "#") && len(line) > 100 {
					t.Errorf("a long line without a comment: %s", line)
				}
			}
		}
	}
}

// A run on own data follows the advice of the data check, and the command for the other machines names the data.
func TestARunOnOwnDataIsChecked(t *testing.T) {
	dir := folder(t)
	for name, row := range map[string]string{"wide.csv": "%d,%d000,%d\n", "even.csv": "%d,%d,%d\n"} {
		text := "a,b,label\n"
		for i := range 200 {
			text += fmt.Sprintf(row, i%7, i%5, i%2)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, talk := screen("")
		run := strings.TrimSuffix(name, ".csv")
		b := Beginning{Screen: s, Alone: true, Given: map[string]string{"name": run, "machines": "2", "data": name,
			"link": "1gbit", "rounds": "9"}}
		file, err := b.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := configs.Load(configs.Source{File: file})
		if err != nil {
			t.Fatal(err)
		}
		advised := name == "wide.csv"
		if !loaded.Config.Data.Standardise || loaded.Config.Train.Rounds != 9 ||
			strings.Contains(talk.String(), "data.standardise: true helps training") != advised {
			t.Errorf("%s: standardise: %v; %s", name, loaded.Config.Data.Standardise, talk)
		}
		i := Invitation{Loaded: loaded}
		if got, want := i.join("TOKEN"), "peer join TOKEN --set data.path="+filepath.Join(dir, name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	loaded, err := configs.Load(configs.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if got := (&Invitation{Loaded: loaded}).join("TOKEN"); got != "peer join TOKEN" {
		t.Errorf("for data that all machines know: %s", got)
	}
	if err := os.WriteFile("gap.csv", []byte("a,b,label\n1,2,0\n3,1\n4,5,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := screen("")
	b := Beginning{Screen: s, Alone: true, Given: map[string]string{"machines": "2", "data": "gap.csv"}}
	if _, err := b.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "gap.csv") {
		t.Errorf("a short row: error %v", err)
	}
	if err := os.WriteFile("few.csv", []byte("a,b,label\n"+strings.Repeat("1,2,0\n3,4,1\n", 5)), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ = screen("")
	b = Beginning{Screen: s, Alone: true, Given: map[string]string{"machines": "9", "data": "few.csv"}}
	_, err = b.Begin(t.Context())
	if err == nil || !strings.Contains(err.Error(), ": the run file of these answers:") {
		t.Errorf("fewer rows than machines: error %v", err)
	}
	s, talk := screen("")
	b = Beginning{Screen: s, Alone: true, Given: map[string]string{"name": "few", "machines": "2", "data": "few.csv"}}
	if _, err := b.Begin(t.Context()); err != nil || !strings.Contains(talk.String(), "logistic regression") {
		t.Errorf("few rows: %s, error %v", talk, err)
	}
	if strings.Contains(names(t, dir), "lan") {
		t.Errorf("there are files all the same: %s", names(t, dir))
	}
}

func TestWrongAnswersSayWhatIsWanted(t *testing.T) {
	folder(t)
	for _, test := range []struct{ flag, text, want string }{
		{"name", "a/b", "want letters"}, {"name", "", "want letters"}, {"machines", "0", "want a number from 1"},
		{"machines", "many", "want a number from 1"}, {"machines", "", "want a number"}, {"data", "glyph", "want one of"},
		{"data", "", "want one of"}, {"link", "fast", "want a rate"}, {"link", "", "want a rate"}, {"rounds", "0", "from 1"},
	} {
		for _, q := range Questions() {
			if q.Flag != test.flag {
				continue
			}
			if err := q.take(new(answers), test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("--%s %q: error %v, want %q", test.flag, test.text, err, test.want)
			}
		}
	}
}

func TestQuestionsAreAskedAgain(t *testing.T) {
	s, talk := screen("x\n\n7\n")
	var got []string
	a := newAsker(s)
	take := func(text string) error {
		got = append(got, text)
		if text == "x" {
			return advice.With(errors.New("wrong"), "take another")
		}
		return nil
	}
	for range 2 {
		if err := a.ask(t.Context(), "Which", "5", take); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(got, " ") != "x 5 7" || strings.Count(talk.String(), "Which [5]: ") != 3 ||
		!strings.Contains(talk.String(), "  wrong\n  take another\n") {
		t.Errorf("%q: %s", got, talk)
	}
	if err := a.ask(t.Context(), "Which", "5", take); !errors.Is(err, errNoMore) {
		t.Errorf("error %v, want that the input has ended", err)
	}
	s.In, _ = io.Pipe() // no answer comes
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if err := newAsker(s).ask(ctx, "Which", "", take); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want the cause", err)
	}
}

func begin(t *testing.T, lines string, given map[string]string, o Overwrite) (string, error) {
	t.Helper()
	s, talk := screen(lines)
	b := Beginning{Screen: s, Given: given, Overwrite: o, Alone: true}
	_, err := b.Begin(t.Context())
	return talk.String(), err
}

func TestAnswersComeFromTerminalOrFlags(t *testing.T) {
	dir := folder(t)
	if said, err := begin(t, "\n4\n\n\n\n\n", nil, keepFiles); err != nil || !strings.Contains(said, "6/6  Membership") {
		t.Fatalf("%s%v", said, err)
	}
	if _, err := begin(t, "", map[string]string{"machines": "3"}, keepFiles); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "lan-2.secret lan-2.yaml lan.secret lan.yaml" {
		t.Errorf("the folder holds %s", got)
	}
	said, err := begin(t, "lan\nlan-3\n", map[string]string{"machines": "3", "data": "glyphs", "link": "1gbit",
		"rounds": "9", "membership": "fixed"}, keepFiles)
	if err != nil || !strings.Contains(said, "lan.yaml exists already") || !strings.Contains(said, "1/6") ||
		strings.Contains(said, "2/6") {
		t.Errorf("%s%v", said, err)
	}
	first, err := os.ReadFile("lan.secret")
	if err != nil || len(first) != 65 {
		t.Fatalf("%q, error %v", first, err)
	}
	if _, err := begin(t, "", map[string]string{"machines": "3", "name": "lan"}, replaceFiles); err != nil {
		t.Fatal(err)
	}
	second, _ := os.ReadFile("lan.secret")
	if info, err := os.Stat("lan.secret"); err != nil || bytes.Equal(first, second) ||
		os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("the secret is the old one, or has mode %v; error %v", info.Mode(), err)
	}
}

// Without all answers nothing is written.
func TestNothingIsWrittenWithoutAllAnswers(t *testing.T) {
	dir := folder(t)
	for name, test := range map[string]struct {
		lines string
		given map[string]string
		want  string
	}{
		"a missing flag":   {"", map[string]string{"name": "lan"}, "--machines is missing"},
		"a wrong flag":     {"", map[string]string{"machines": "0"}, "--machines: \"0\": want a number"},
		"an unknown set":   {"", map[string]string{"machines": "2", "data": "fashon-mnist"}, "--data: data \"fashon-mnist\""},
		"the end of input": {"lan\n4\n", nil, "nothing was written"},
		"unreadable data":  {"", map[string]string{"machines": "2", "data": "."}, "no folder and no picture in it"},
	} {
		_, err := begin(t, test.lines, test.given, keepFiles)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if got := names(t, dir); got != "" {
			t.Errorf("%s: the folder holds %s", name, got)
		}
	}
}

func TestBothFilesAreWrittenOrNone(t *testing.T) {
	dir := folder(t)
	p := pathsOf("lan")
	if err := os.Mkdir("lan.yaml", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*takenError](p.write("a", "b", keepFiles)); !ok {
		t.Error("a folder of that name is replaced")
	}
	if err := p.write("a", "b", replaceFiles); err == nil {
		t.Error("a folder was replaced by a file")
	}
	os.RemoveAll(dir + "/lan.yaml")
	os.Remove("lan.secret")
	if err := p.write("a", "", keepFiles); err != nil || names(t, dir) != "lan.yaml" {
		t.Errorf("error %v, the folder holds %s, want no file for an empty secret", err, names(t, dir))
	}
	if os.PathSeparator != '/' {
		return
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := pathsOf("other").write("a", "b", keepFiles); err == nil || !strings.Contains(hintOf(err), "chmod o-w") {
		t.Errorf("error %v: others could replace the secret", err)
	}
	err := unwritable(&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC})
	if !strings.Contains(hintOf(err), "make room") {
		t.Errorf("%v: hint %s", err, hintOf(err))
	}
}

func TestOnlyOwnKeysCanBeSet(t *testing.T) {
	for set, want := range map[string]string{
		"algorithm.bits=4": "for all", "topology={size: 3}": "for all", "peers=[]": "for all", "name=x": "for all",
		"node.join_secret_file=x": "for all", "node.detect=soon": "node.detect",
		"data.path=x": "", "node.key=k": "", "output.dir=o": "", "node={detect: 4s}": "",
	} {
		j := Joining{Set: []string{set}}
		if _, err := j.own(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", set, err, want)
		}
	}
}

func TestAJoinWithoutATerminalNeedsAToken(t *testing.T) {
	dir := folder(t)
	s, _ := screen("")
	for typed, want := range map[string]string{"": "TOKEN is missing", "abc": "token: it has 3 characters"} {
		_, err := (&Joining{Screen: s, Token: typed}).Join(t.Context())
		if _, ok := errors.AsType[*advice.UsageError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", typed, err, want)
		}
	}
	if got := names(t, dir); got != "" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestOtherFilesAndDataAreRefused(t *testing.T) {
	folder(t)
	file := handover.File{Name: "edges.txt", SHA256: "00", Bytes: 3}
	if err := compareFiles([]handover.File{file}, "alpha"); err == nil ||
		!strings.Contains(hintOf(err), "copy edges.txt from alpha") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile("edges.txt", []byte("0 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := compareFiles([]handover.File{file}, "alpha"); err == nil || !strings.Contains(err.Error(), "differs") {
		t.Errorf("error %v", err)
	}
	var err error
	if file.SHA256, file.Bytes, err = checksum("edges.txt"); err != nil {
		t.Fatal(err)
	}
	if err := compareFiles([]handover.File{file}, "alpha"); err != nil {
		t.Error(err)
	}
	l, err := configs.Load(configs.Source{Set: []string{"topology.size=2"}})
	if err != nil {
		t.Fatal(err)
	}
	mine, err := held(l)
	if err != nil || compareData(l, mine, "alpha") != nil {
		t.Errorf("error %v: built-in data differ from themselves", err)
	}
	theirs := json.RawMessage(strings.Replace(string(mine), "built in", "other", 1))
	if err := compareData(l, theirs, "alpha"); err == nil || !strings.Contains(err.Error(), "data set.fingerprint is") {
		t.Errorf("error %v", err)
	}
	l, err = configs.Load(configs.Source{Set: []string{"topology.size=2", "data.name=mnist", "data.dir=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := compareData(l, mine, "alpha"); err == nil || hintOf(err) != "peer data fetch mnist" {
		t.Errorf("error %v, hint %q", err, hintOf(err))
	}
}

func TestWhatTheHostMayKnow(t *testing.T) {
	wrong := &configs.Error{Problems: []configs.Problem{{Key: "name", Message: "secret line"}}}
	if got := told(wrong).Error(); strings.Contains(got, "secret line") {
		t.Errorf("the host learns %q", got)
	}
	if got := told(&takenError{"lan.yaml"}).Error(); got != "lan.yaml exists already" {
		t.Errorf("the host learns %q", got)
	}
}

func TestFilesHaveHarmlessNames(t *testing.T) {
	for file, want := range map[string]string{
		"lan.yaml": "lan", filepath.Join("a", "b c.yaml"): "my-run", "ring8": "ring8", "../.yaml": "my-run",
	} {
		if got := nameOf(file, configs.Config{Name: "my-run"}); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	if got := nameOf("b c.yaml", configs.Config{Name: "my run"}); got != "run" {
		t.Errorf("got %s", got)
	}
}

func TestPortsOfLinks(t *testing.T) {
	c := configs.Config{Node: configs.Node{Listen: []string{"/ip4/0.0.0.0/tcp/4777"}}}
	if got := linkPort(c); got != 4777 {
		t.Errorf("port %d, want that of the run file", got)
	}
	if got := linkPort(configs.Config{}); got == 0 {
		t.Error("no port")
	}
	if quic, tcp := listenOn(true, 7), listenOn(false, 7); quic != "/ip4/0.0.0.0/udp/7/quic-v1" ||
		tcp != "/ip4/0.0.0.0/tcp/7" {
		t.Errorf("%s and %s", quic, tcp)
	}
}

// A token for a run whose members have met would be of no use. The peer of this machine tells, by its socket.
func TestNoTokenForARunThatIsFull(t *testing.T) {
	dir := folder(t)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	if said, err := begin(t, "", map[string]string{"machines": "2"}, keepFiles); err != nil {
		t.Fatal(said, err)
	}
	l, err := configs.Load(configs.Source{File: "lan.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	path, err := peer.KeyPath("")
	if err != nil {
		t.Fatal(err)
	}
	who, err := identity.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer who.Close()
	other, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Options{RunID: "lan", N: 2, Dim: 1, Identity: who, Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	server, err := status.Open(l.Config, dir, 0, n, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s, _ := screen("")
	i := &Invitation{Screen: s, File: "lan.yaml", Loaded: l, Valid: time.Minute}
	if _, err := i.terms(); err != nil {
		t.Errorf("a run that waits for machines: %v", err)
	}
	if err := n.SetRoster([]node.Peer{{ID: who.ID()}, {ID: other.ID()}}); err != nil {
		t.Fatal(err)
	}
	_, err = i.terms()
	if err == nil || !strings.Contains(err.Error(), "the run lan is full: its 2 machines have met") ||
		!strings.Contains(hintOf(err), "topology.size") {
		t.Errorf("error %v, want that the run is full", err)
	}
	i.Loaded, err = configs.Load(configs.Source{File: "lan.yaml", Set: []string{"membership.mode=view", "membership.max=5",
		"algorithm.codec=full"}})
	if err != nil {
		t.Fatal(err)
	}
	for machines, want := range map[int]int{0: 1, 4: 4} {
		i.Machines = machines
		if terms, err := i.terms(); err != nil || terms.Seats != want || !terms.Offer.Open {
			t.Errorf("members come and go, %d machines: a token for %d, error %v", machines, terms.Seats, err)
		}
	}
	i.Machines = 5
	if _, err := i.terms(); err == nil || !strings.Contains(err.Error(), "--machines 5: want 1 to 4") {
		t.Errorf("error %v, want that at most 4 others may come", err)
	}
}

// The model, the batch and the rounds follow rows, values and classes.
func TestTheModelSuitsTheData(t *testing.T) {
	check := func(rows, inputs, classes int) *describe.DataCheck {
		first := &data.Survey{Shape: sample.Shape{H: 1, W: 1, C: inputs}, Classes: make([]data.ClassCount, classes)}
		sizes := []int{rows / 4, rows / 4, rows / 4, rows - 3*(rows/4)}
		return &describe.DataCheck{Files: []*data.Survey{first}, Train: rows, Split: &describe.Split{Sizes: sizes}}
	}
	for _, test := range []struct {
		rows, inputs, classes, asked int
		hidden, batch, rounds        int
	}{
		{400, 7, 2, 0, 0, 16, 600},
		{400, 7, 3, 0, 64, 16, 600},
		{40, 4, 3, 0, 64, 10, 600},
		{4500, 64, 10, 0, 64, 32, 703},
		{60000, 784, 10, 0, 128, 32, 3000},
		{60000, 784, 10, 50, 128, 32, 50},
	} {
		s := suits(check(test.rows, test.inputs, test.classes), 4, test.asked)
		if s.hidden != test.hidden || s.batch != test.batch || s.rounds != test.rounds || !s.standardise {
			t.Errorf("%+v: %+v", test, s)
		}
		if want := fmt.Sprintf("%d rounds", s.rounds); !strings.Contains(s.why, want) {
			t.Errorf("%q does not say %s", s.why, want)
		}
	}
}

// A table of a spreadsheet needs no work: texts, missing values and decimal commas are read. Where the labels name no
// classes, a person is asked for their column.
func TestTablesOfSpreadsheetsAreTaken(t *testing.T) {
	folder(t)
	text := "kind;colour;size\n"
	for i := range 60 {
		text += fmt.Sprintf("%s;%s;%d,%d\n", []string{"x", "y"}[i%2], []string{"red", "blue", ""}[i%3], i, 1+i%9)
	}
	if err := os.WriteFile("own.csv", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"name": "a", "machines": "1", "data": "own.csv", "rounds": "auto"}
	said, err := begin(t, "sort\nkind\n", given, keepFiles)
	for _, want := range []string{"name no classes", "Column of the classes: kind, colour, size: ", `column "sort"`,
		"data.encode makes", "3 values and 2 classes"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("no %q in %s%v", want, said, err)
		}
	}
	loaded, err := configs.Load(configs.Source{File: "a.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if c := loaded.Config.Data; c.Label != "kind" || !c.Encode || !c.Standardise {
		t.Errorf("%+v", c)
	}
	given["name"] = "b"
	s, _ := screen("")
	_, err = (&Beginning{Screen: s, Given: given}).Begin(t.Context())
	if _, ok := errors.AsType[*data.LabelError](err); !ok {
		t.Errorf("without a terminal: error %v", err)
	}
}

// Where the last column has ids, or lacks a label, a person is asked for that of the classes.
func TestIDsAreNoClasses(t *testing.T) {
	folder(t)
	for name, last := range map[string]string{"ids": "u%d", "gaps": "?%.0d"} { // the first gap is ?, which is missing
		text := "kind,size,id\n"
		for i := range 60 {
			text += fmt.Sprintf("%s,%d,"+last+"\n", []string{"x", "y"}[i%2], 1+i%9, i)
		}
		if err := os.WriteFile(name+".csv", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		given := map[string]string{"name": name, "machines": "1", "data": name + ".csv", "rounds": "auto"}
		said, err := begin(t, "kind\n", given, keepFiles)
		if err != nil || !strings.Contains(said, "Column of the classes: kind, size, id: ") {
			t.Errorf("%s: %s%v", name, said, err)
		}
	}
}

// Data are checked as soon as they are named, before any other question. A person may name other data.
func TestDataAreCheckedAtOnce(t *testing.T) {
	dir := folder(t)
	for name, text := range map[string]string{
		"short.csv": "a,b,label\n1,2,0\n3,1\n4,5,1\n", "train.py": "import torch\nprint(torch)\n",
		"good.csv": "a,b,label\n" + strings.Repeat("1,2,0\n3,4,1\n", 20),
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said, err := begin(t, "\n3\nshort.csv\ntrain.py\ngood.csv\n\n\n\n", nil, keepFiles)
	at := 0
	for _, want := range []string{"3/6  Data", "short.csv: line 3: ", "3/6  Data", "a script, which trains", "3/6  Data",
		"32 rows of 2 values", "4/6  Rate"} {
		next := strings.Index(said[at:], want)
		if next < 0 || err != nil {
			t.Fatalf("no %q in %q, error %v", want, said[at:], err)
		}
		at += next
	}
	said, err = begin(t, "\n3\n", map[string]string{"data": "short.csv"}, keepFiles)
	if err == nil || !strings.Contains(err.Error(), "init: data: "+filepath.Join(dir, "short.csv")+": line 3: ") ||
		strings.Contains(said, "Name") {
		t.Errorf("a flag: %s%v", said, err)
	}
	said, err = begin(t, "\n40\n2\n", map[string]string{"data": "good.csv", "link": "1gbit", "rounds": "7",
		"membership": "fixed"}, keepFiles)
	if err != nil || strings.Count(said, "2/6  Machines") != 2 || strings.Count(said, "rows of 2 values") != 1 {
		t.Errorf("fewer rows than machines: %s%v", said, err)
	}
}

// One machine alone is asked nothing about links and members.
func TestOneMachineHasNoLinks(t *testing.T) {
	dir := folder(t)
	said, err := begin(t, "\n1\n\n\n", nil, keepFiles)
	if err != nil || !strings.Contains(said, "4/4  Rounds") || strings.Contains(said, "Rate") ||
		strings.Contains(said, "Membership") || names(t, dir) != "lan.yaml" {
		t.Errorf("%s%v: files %s", said, err, names(t, dir))
	}
	if said, err = begin(t, "", map[string]string{"name": "x"}, keepFiles); err == nil {
		t.Errorf("without a terminal a number of machines was assumed: %s", said)
	}
}

// One machine alone gets a run of several processes, without a secret.
func TestOneMachineNeedsNoSecret(t *testing.T) {
	dir := folder(t)
	s, talk := screen("")
	b := Beginning{Screen: s, Given: map[string]string{"machines": "1"}}
	file, err := b.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := configs.Load(configs.Source{File: file})
	if err != nil || loaded.Config.Topology.Size != 4 || loaded.Config.Train.Rounds != usualRounds {
		t.Errorf("%+v, error %v", loaded, err)
	}
	if got := names(t, dir); got != "lan.yaml" {
		t.Errorf("files %s, want the run file alone", got)
	}
	if !strings.Contains(talk.String(), "next: peer lab lan.yaml") {
		t.Errorf("no next step: %s", talk)
	}
}
