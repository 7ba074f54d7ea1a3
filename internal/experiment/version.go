package experiment

// ResultsVersion changes whenever runs of the same settings may have other results than before: other parameters, other
// virtual times or other records. Checkpoints of simulations and cells of comparisons note it. A test ties it to the
// list of test/digests.
const ResultsVersion = 1
