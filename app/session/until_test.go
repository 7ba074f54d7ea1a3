package session

import (
	"errors"
	"testing"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

func TestUntilSaysWhatEndsARun(t *testing.T) {
	u, err := ParseUntil("lab", []string{"time=10m", "loss=0.5", "accuracy=0.9"})
	want := Until{Time: 10 * time.Minute, Targets: record.Targets{Loss: 0.5, Accuracy: 0.9}}
	if err != nil || u != want {
		t.Errorf("%+v, error %v", u, err)
	}
	if got := u.String(); got != "time=10m0s or loss=0.5 and accuracy=0.9" {
		t.Errorf("%q", got)
	}
	if nothing, err := ParseUntil("lab", nil); err != nil || nothing.String() != "" {
		t.Errorf("%q, error %v", nothing, err)
	}
}

func TestEndsThatCannotBeAreRefused(t *testing.T) {
	for _, setting := range []string{
		"time=0s", "time=soon", "loss=0", "loss=-1", "loss=NaN", "loss=+Inf", "accuracy=1.1", "accuracy", "los=3", "",
	} {
		_, err := ParseUntil("lab", []string{setting})
		if _, ok := errors.AsType[*advice.UsageError](err); !ok {
			t.Errorf("%q: error %v", setting, err)
		}
	}
}

func TestAnAccuracyIsKnownOnlyWhereModelsAreEvaluated(t *testing.T) {
	loaded, err := configs.Load(configs.Source{Set: []string{"output.evaluate=0"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	refused, ok := errors.AsType[*configs.Error](Until{Targets: record.Targets{Accuracy: 0.9}}.Check(run))
	if !ok || refused.Problems[0].Key != "output.evaluate" {
		t.Errorf("error %v", refused)
	}
	if err := (Until{Targets: record.Targets{Loss: 0.9}}).Check(run); err != nil {
		t.Errorf("a loss: %v", err)
	}
	external, err := configs.Load(configs.Source{Set: []string{"model.name=external"}})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = experiment.New(external.Config); err != nil {
		t.Fatal(err)
	}
	if err := (Until{Targets: record.Targets{Accuracy: 0.9}}).Check(run); err != nil {
		t.Errorf("an accuracy that a program tells: %v", err)
	}
}

func TestAnAccuracyEndsARunOnlyWhereItHasRecords(t *testing.T) {
	for every, want := range map[string]string{"100": "output.every", "20": ""} {
		loaded, err := configs.Load(configs.Source{Set: []string{"train.rounds=100", "output.evaluate=20",
			"output.every=" + every}})
		if err != nil {
			t.Fatal(err)
		}
		run, err := experiment.New(loaded.Config)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e, ok := errors.AsType[*configs.Error](Until{Targets: record.Targets{Accuracy: 0.9}}.Check(run)); ok {
			got = e.Problems[0].Key
		}
		if got != want {
			t.Errorf("records every %s rounds: refused for %q, want %q", every, got, want)
		}
	}
}

func TestALossIsKnownOnlyWhereARunHasEnoughRecords(t *testing.T) {
	loaded, err := configs.Load(configs.Source{Set: []string{"train.rounds=100", "output.every=25"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	refused, ok := errors.AsType[*configs.Error](Until{Targets: record.Targets{Loss: 0.9}}.Check(run))
	if !ok || refused.Problems[0].Key != "output.every" {
		t.Errorf("error %v", refused)
	}
}
