package session

import (
	"path/filepath"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
)

// A Step is a command that leads on from a finished run.
type Step struct{ Command, Why string }

// Next returns what people do with the models of a finished run of real peers. They average those of several machines,
// evaluate the mean, and predict classes.
func (s *Session) Next() (all []Step) {
	cfg, model := s.Run.Config(), runfolder.AveragePath(s.Folder.Dir)
	picture := cfg.Name + "-classes.png"
	lan := s.Mode == "run"
	if lan && s.Run.N() > 1 {
		files := filepath.Join(advice.Command(s.Folder.Dir), "peer-*.safetensors") // the shell expands it
		all = append(all, Step{"peer average " + files + " -o " + advice.Command(model),
			"the mean of the models, once those of the other machines are in this folder"})
	}
	switch {
	case s.Mode == "sim" || cfg.External() || !cfg.LearnsFromData():
	case lan && cfg.Data.Partition == "local": // no machine has the test rows of all
	case cfg.Data.Own() && cfg.Data.Name != "file": // the folder of the data is in the run file alone
		file := filepath.Join(s.Folder.Dir, runfolder.RunFile)
		all = append(all, Step{advice.Command("peer", "evaluate", model, file, "-o", picture),
			"its accuracy by class, and a picture"})
	default:
		all = append(all, Step{advice.Command("peer", "evaluate", model, "-o", picture),
			"its accuracy by class, and a picture"})
	}
	if s.Mode != "sim" && cfg.LearnsFromData() && cfg.Data.Name == "file" {
		file := cfg.Data.OfRank(0).Path
		all = append(all, Step{advice.Command("peer", "predict", model, file, "-o", "classes.csv"),
			"class and probability of each row, also of files without labels"})
	}
	return all
}
