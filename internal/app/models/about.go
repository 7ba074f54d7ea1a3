package models

// MostFiles bounds the files of one average.
const MostFiles = 1 << 16

// AboutEvaluate is the help text of the command evaluate.
const AboutEvaluate = `print loss and accuracy of a model file on a test split

MODEL is a safetensors file, of a run or of another program: docs/models.md has the names
and shapes. Model and data are those of the run file FILE. Without it they are those that
the metadata of MODEL name.`

// ExampleEvaluate has examples of it.
const ExampleEvaluate = `  peer evaluate runs/ring8-20260726-093015/model.safetensors
  peer evaluate trained.safetensors --data fashion-mnist --json
  peer evaluate trained.safetensors my-run.yaml`

// AboutAverage is the help text of the command average.
const AboutAverage = `average model files

The files are safetensors files of any program. They must have the same tensors. Sums are
in double precision; tensors of whole numbers are those of the first file.`

// ExampleAverage has an example of it.
const ExampleAverage = `  peer average a/peer-0.safetensors b/peer-1.safetensors -o model.safetensors`
