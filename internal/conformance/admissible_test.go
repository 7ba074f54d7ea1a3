package conformance

import (
	"errors"
	"slices"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/registry"
)

// Algorithms that are not built yet have no row.
func TestConformanceAdmissible(t *testing.T) {
	var file struct {
		Cases []struct {
			Algorithm string
			Topology  topologySpec
			Allowed   bool
			Reason    string
		}
	}
	Load2(t, "admissible.json", &file)
	checked := 0
	for _, c := range file.Cases {
		row, built := registry.Find(c.Algorithm, "ring")
		if !built {
			continue
		}
		checked++
		if got := row.On.Kind != "" || c.Topology.Name.Static() || row.On.Changing.Given; got != c.Allowed {
			t.Errorf("%s on %s: allowed %v, want %v (%s)", c.Algorithm, c.Topology.Name, got, c.Allowed, c.Reason)
		}
		if !c.Allowed && row.On.Changing.Why == "" {
			t.Errorf("%s on %s: refused without a reason", c.Algorithm, c.Topology.Name)
		}
	}
	if checked == 0 {
		t.Error("admissible.json: no case of a known algorithm")
	}
}

// admissibleSettings are settings of the file as keys of run files. The others need algorithms that are not built yet.
var admissibleSettings = map[string][]string{
	"local_steps 2":     {"algorithm.local_steps=2"},
	"adamw":             {"train.optimizer.name=adamw"},
	"a certified theta": {"algorithm.codec=moniqua", "algorithm.theta.rule=certified"},
	"adamw with beta1^2 >= beta2 and a certified theta": {"train.optimizer.name=adamw", "train.optimizer.beta1=0.95",
		"train.optimizer.beta2=0.9", "algorithm.codec=moniqua", "algorithm.theta.rule=certified"},
}

// Settings that an algorithm refuses are errors with their keys.
func TestConformanceAdmissibleSettings(t *testing.T) {
	var file struct {
		Settings []struct {
			Algorithm, Setting, Reason string
			Allowed                    bool
		}
	}
	Load2(t, "admissible.json", &file)
	checked := 0
	for _, c := range file.Settings {
		set, known := admissibleSettings[c.Setting]
		if !known || slices.Contains(unbuilt.algorithms, c.Algorithm) {
			continue
		}
		checked++
		base := []string{"topology.size=4", "model.name=quadratic", "model.dim=20", "train.rounds=4",
			"algorithm.name=" + c.Algorithm}
		loaded, err := configs.Load(configs.Source{Set: append(base, set...)})
		if err == nil {
			_, err = experiment.New(loaded.Config)
		}
		var refused *configs.Error
		if c.Allowed != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s with %s: allowed %v, want %v (%s): %v", c.Algorithm, c.Setting, err == nil, c.Allowed, c.Reason, err)
		}
	}
	if checked == 0 {
		t.Error("admissible.json: no setting of a known algorithm")
	}
}
