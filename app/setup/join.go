package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/configs"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
)

// A Joining is the work of peer join.
type Joining struct {
	Screen
	Token     string   // "": ask for it
	Set       []string // key=value of keys in which machines may differ
	Overwrite Overwrite
}

// A Joined is a machine that has the files of a run.
type Joined struct {
	RunFile string `json:"run_file"`
	Secret  string `json:"secret_file"`
	Rank    *int   `json:"rank,omitempty"` // nil without a roster
	Number  int    `json:"number"`         // of this machine, in the order of their coming
	Of      int    `json:"machines"`

	External bool `json:"-"` // a script trains the model
	Open     bool `json:"-"` // machines join while the run goes on
}

// Write prints what this machine has, and what to type next.
func (j *Joined) Write(w io.Writer) error {
	text := fmt.Sprintf("%s has the run of %d machines; this is machine %d", j.RunFile, j.Of, j.Number)
	if j.Open {
		text = fmt.Sprintf("%s has the run; this machine may join it at any time", j.RunFile)
	}
	if j.Rank != nil {
		text += fmt.Sprintf(", worker %d", *j.Rank)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// Next is the command that takes part in the run.
func (j *Joined) Next() string {
	command := advice.Command("peer", "run", j.RunFile)
	if j.External {
		command += " -- COMMAND"
	}
	return command
}

// Join takes over run file and secret from the machine that made a token.
func (j *Joining) Join(ctx context.Context) (*Joined, error) {
	own, err := j.own()
	if err != nil {
		return nil, err
	}
	if err := writable(); err != nil {
		return nil, err
	}
	if j.Token == "" && !j.Interactive {
		return nil, missing("join", "TOKEN", "peer join TOKEN, with the token that peer init or peer invite prints")
	}
	path, err := peer.KeyPath(own.Node.Key)
	if err != nil {
		return nil, err
	}
	to, err := handover.ParseToken(j.Token)
	if err != nil && j.Token != "" {
		return nil, advice.Usage(err, hintOf(err))
	}
	who, err := identity.Open(path)
	if err != nil {
		return nil, err
	}
	defer who.Close()
	p, err := handover.Appear(handover.Place{Identity: who, Role: handover.Guest, Log: j.Log})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if j.Token == "" {
		take := func(text string) (err error) { to, err = handover.ParseToken(text); return err }
		if err := newAsker(j.Screen).ask(ctx, "Token that peer init shows on the first machine", "", take); err != nil {
			return nil, err
		}
	}
	complaints := examine(ctx, j.Screen)
	v, err := p.Visit(ctx, to, handover.Visitor{Host: hostName(), Program: program(), Port: linkPort(own)})
	if no, ok := errors.AsType[*handshake.RefusedError](err); ok && no.Reason == handshake.Duplicate {
		return nil, advice.With(err, socket.NewKey(path))
	}
	if err != nil {
		return nil, err
	}
	defer v.Close()
	complaints()
	out, err := j.take(v)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, err
}

// own checks the overrides and returns the settings that they make.
func (j *Joining) own() (configs.Config, error) {
	for _, set := range j.Set {
		key, _, _ := strings.Cut(set, "=")
		same := slices.ContainsFunc(configs.Reference(), func(k configs.Key) bool {
			return k.Same && (k.Name == key || strings.HasPrefix(k.Name, key+"."))
		})
		if same || slices.Contains([]string{"peers", "node.join_secret", "node.join_secret_file"}, key) {
			return configs.Config{}, advice.Usagef("join: --set %s: the machine that invites says that, for all: "+
				"only what may differ between machines can be set, such as data.dir, data.path, node and output", key)
		}
	}
	// Rules about data need the run file: here only the section node matters.
	set := slices.DeleteFunc(slices.Clone(j.Set), func(s string) bool { return !strings.HasPrefix(s, "node") })
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		return configs.Config{}, err
	}
	return loaded.Config, nil
}

// take examines an offer, accepts it and writes the files. It tells the host why not.
func (j *Joining) take(v *handover.Visit) (*Joined, error) {
	files := pathsOf(v.Offer.Name)
	if err := j.examineOffer(v, files); err != nil {
		v.Refuse(told(err))
		return nil, err
	}
	if v.Offer.Gathers {
		j.say("%s has a run of %d machines; this one is ready, and waits for the others", v.From, v.Offer.Machines)
	}
	grant, err := v.Accept()
	if err != nil {
		return nil, ended(v, err)
	}
	out := &Joined{RunFile: files.runFile, Secret: files.secret, Number: grant.Number, Of: v.Offer.Machines,
		Open: v.Offer.Open}
	if grant.Rank != handover.Unranked {
		out.Rank = &grant.Rank
	}
	if err := j.keep(out, grant, v.Offer.Gathers); err != nil {
		v.Refuse(told(err))
		return nil, err
	}
	return out, v.Finish()
}

// told returns an error as the host may know it: an excerpt of a run file might show another file of this machine.
func told(err error) error {
	if _, ok := errors.AsType[*configs.Error](err); ok {
		return errors.New("it cannot use the run file: its own message says why")
	}
	return err
}

// ended explains the end of a connection.
func ended(v *handover.Visit, err error) error {
	if _, refused := errors.AsType[*handshake.RefusedError](err); refused {
		return err
	}
	return fmt.Errorf("join: %s has gone: %w", v.From, err)
}

// examineOffer checks that this machine can take part.
func (j *Joining) examineOffer(v *handover.Visit, files paths) error {
	if err := files.check(j.Overwrite); err != nil {
		return err
	}
	if err := compareFiles(v.Offer.Files, v.From); err != nil {
		return err
	}
	_, err := j.adopt(v.Offer.RunFile, files, map[string]any{secretKey: files.secret},
		func(loaded *configs.Loaded) error { return compareData(loaded, v.Offer.Data, v.From) })
	return err
}

// secretKey is the key of a run file that names the file of the secret.
const secretKey = "node.join_secret_file"

// adopt turns the run file of the host into one of this machine, with these values and the overrides, and shows it to
// use.
func (j *Joining) adopt(
	theirs string, files paths, values map[string]any, use func(*configs.Loaded) error,
) (text string, err error) {
	err = tryOut(theirs, func(name string) error {
		own, err := configs.Adopt(name, j.Set, values)
		text = string(own)
		return named(err, name, files.runFile)
	})
	if err != nil {
		return "", err
	}
	return text, tryOut(text, func(name string) error {
		loaded, err := configs.Load(configs.Source{File: name})
		if err != nil {
			return named(err, name, files.runFile)
		}
		return use(loaded)
	})
}

// keep writes the files of a grant, with the overrides of this machine.
func (j *Joining) keep(out *Joined, grant handover.Grant, gathered bool) error {
	files, values := paths{out.RunFile, out.Secret}, map[string]any{}
	secret := ""
	if grant.Secret == "" {
		out.Secret = ""
	} else {
		secret, values[secretKey] = grant.Secret+"\n", files.secret
	}
	if gathered {
		own, err := j.own()
		if err != nil {
			return err
		}
		if len(own.Node.Listen) == 0 {
			values["node.listen"] = []any{listenOn(grant.QUIC, grant.Port)}
		}
	}
	text, err := j.adopt(grant.RunFile, files, values, func(loaded *configs.Loaded) error {
		out.External = loaded.Config.External()
		return nil
	})
	if err != nil {
		return err
	}
	return files.write(text, secret, j.Overwrite)
}

// named puts the name of a file into errors about its draft. A file of the user's own data has another place on each
// machine, which the run file cannot tell.
func named(err error, draft, name string) error {
	wrong, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return err
	}
	for n := range wrong.Problems {
		p := &wrong.Problems[n]
		p.Source = strings.ReplaceAll(p.Source, draft, name)
		if strings.Contains(p.Message, "data.path") {
			p.Hint = nameData("data.path")
		}
	}
	return err
}
