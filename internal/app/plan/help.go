package plan

import "time"

// Budget is how long a plan measures and simulates unless the user says otherwise.
const Budget = 90 * time.Second

// Proving is how long each of the best candidates runs with real peers at most.
const Proving = time.Minute

// Help texts of the command.
const (
	Short = "predict time and bytes to a target for other settings of a run"
	Long  = Short + `

The command measures gradient, messages and frames on this machine, lets real peers rehearse for
some seconds, and simulates the beginnings of candidates: combinations of algorithm, bits, graph
and local steps. The better ones are simulated for longer, up to the target or all rounds. The
table shows the frontier: candidates of which no other is quicker and sends less. Each time has
the range in which it is expected.

Without a roster the times are those of "peer lab": all workers share the cores of this machine,
under the limits of the run file. With one, each worker has a machine like this one; --probe
measures the links between them. --machines and --cores say otherwise. Evaluations and
checkpoints are not included.`
	Example = `  peer plan ring8 --set limit.rate=20mbit
  peer plan my-run.yaml --until accuracy=0.95 --budget 5m -o best.yaml
  peer plan my-run.yaml --algorithms dpsgd,choco --bits 8,4,1 --graphs ring,complete --steps 1,4
  peer plan my-run.yaml --prove        the three best with real peers, beside their predictions
  peer plan lan.yaml --probe           with "peer doctor --peers lan.yaml" on the other machines`
)
