package setup

// Help texts of the commands.
const (
	InitShort = "begin a run on a LAN: write its files, invite the other machines"
	InitLong  = InitShort + `

Asks at most six questions, writes a run file with comments and a fresh secret (mode 0600) into
this folder, and prints the join command for the others: peer join TOKEN. The token is
valid for a while and admits the missing machines. Each question has a flag;
without a terminal, answers come only from flags.`
	InitExample = `  peer init
  peer init --run                              take part as soon as all have joined
  peer init --machines 4 --link 10mbit         ask only for the rest
  peer init --machines 4 --no-invite           write only the files`

	InviteShort = "hand run file and secret of a run to the other machines"
	InviteLong  = InviteShort + `

Prints the join command for the others: peer join TOKEN. Machine and token prove
themselves to each other before anything is told, and the connection is encrypted. The
token expires, and it admits as many machines as the run still needs (--machines). Each
machine first shows that it has the same data and the same version of the program.
Where members come and go, a member invites one more machine while the run goes on.
Where multicast does not pass, the run file gets the addresses of all machines.`
	InviteExample = `  peer invite lan.yaml
  peer invite lan.yaml --machines 1 --valid 2m   one machine, which comes soon
  peer invite lan.yaml --port 4000               with a port that the firewall lets in`

	JoinShort = "receive the run file and secret from the inviting machine"
	JoinLong  = JoinShort + `

Writes both into this folder. Without TOKEN it asks for one. Before this machine gets the
secret, it shows that it has the data of the run; if not, the message says how to get them.
COMMAND is your own script, where the run file says model.name: external.`
	JoinExample = `  peer join                                    asks for the token
  peer join TOKEN --run                        and takes part in the run
  peer join TOKEN --set data.path=iris.csv     data of your own lie elsewhere here`
)
