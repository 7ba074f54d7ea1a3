# For the scripts of this folder, which source it. They set prefix and peers, make the namespace $prefix-lan, and remove
# all namespaces at the end.

# cable_peers SUBNET puts a bridge into $prefix-lan and makes a namespace per peer with a cable to it. Peer I has the
# address SUBNET.I+1. There is no route to anywhere else.
cable_peers() {
  local i
  ip -n "$prefix-lan" link add bridge type bridge mcast_snooping 0
  ip -n "$prefix-lan" link set bridge up
  for ((i = 0; i < peers; i++)); do
    ip netns add "$prefix-$i"
    ip -n "$prefix-$i" link add eth0 type veth peer name "port$i" netns "$prefix-lan"
    ip -n "$prefix-lan" link set "port$i" master bridge up
    ip -n "$prefix-$i" link set lo up
    ip -n "$prefix-$i" address add "$1.$((i + 1))/24" dev eth0
    ip -n "$prefix-$i" link set eth0 up
  done
}
