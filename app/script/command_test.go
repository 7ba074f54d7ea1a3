package script

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
)

func TestACommandIsForExternalModels(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(plain, []byte("pass"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		model   string
		command []string
		want    string // in error and hint; "": it is right
		usage   bool
	}{
		{model: "mlp"},
		{model: "external", command: []string{self, "-x"}},
		{model: "external", want: "model.name: is external: the command of your script is missing|" +
			"type it after --: peer lab run.yaml -- python3 train.py"},
		{model: "mlp", command: []string{"python3", "my train.py"},
			want: "model.name: is mlp, which is built in, but a command follows --: python3 'my train.py'|" +
				"model.name: external"},
		{model: "external", command: []string{"no-such-program"}, usage: true,
			want: "no-such-program: command not found|path"},
		{model: "external", command: []string{plain}, usage: true, want: "no program that you may run|-- python3 " + plain},
	} {
		loaded, err := configs.Load(configs.Source{Set: []string{"model.name=" + test.model}})
		if err != nil {
			t.Fatal(err)
		}
		err = Check(loaded, test.command, "peer lab run.yaml")
		if test.want == "" {
			if err != nil {
				t.Errorf("%s with %q: %v", test.model, test.command, err)
			}
			continue
		}
		text := ""
		config, isConfig := errors.AsType[*configs.Error](err)
		usage, isUsage := errors.AsType[*advice.UsageError](err)
		switch {
		case isConfig:
			text = config.Problems[0].Key + ": " + config.Problems[0].Message + "|" + config.Problems[0].Hint
		case isUsage:
			text = usage.Error() + "|" + usage.Hint()
		}
		message, hint, _ := strings.Cut(test.want, "|")
		if isUsage != test.usage || !strings.Contains(text, message) || !strings.Contains(text, hint) {
			t.Errorf("%s with %q: error %v says %q, want %q", test.model, test.command, err, text, test.want)
		}
	}
}

func TestTheFilesOfACommand(t *testing.T) {
	dir := t.TempDir()
	train := filepath.Join(dir, "train.py")
	if err := os.WriteFile(train, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := []string{"python3", train, "--lr", "0.1", dir}
	before, err := Files(command)
	if err != nil || len(before) != 1 || before[0].Name != train || before[0].Size != 5 {
		t.Fatalf("files %+v, error %v; want the script alone", before, err)
	}
	if err := os.WriteFile(train, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := Files(command); err != nil || slices.Equal(before, after) {
		t.Errorf("another script has the same files %+v, error %v", after, err)
	}
	if got := After(command); got[0] != "--" || len(got) != 6 || After(nil) != nil {
		t.Errorf("words %q after a command line", got)
	}
}
