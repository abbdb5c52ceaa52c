#!/bin/sh
# The guardian: sees to it that the command does not outlive `holdfast run`. It reads lines from a pipe that only the
# wrapper holds:
#
#   watch group|tree ID STARTTIME   this is what to kill; answered with `ready`
#   until SECONDS                   kill it by then, unless another `until` comes first
#   done                            all is well, go away
#
# When the pipe ends without `done`, the wrapper died of a signal that it could not handle. When `until` passes, the
# wrapper is stopped or stuck and the lease is over. Either way the command must not work on: the guardian kills it.
#
# It is a shell because it must cost little (1 ms to start; another Node takes 50) and must work when there is no
# memory left, since the kernel's out-of-memory killer is the likeliest sender of that SIGKILL. It uses builtins, `cat`
# and `sleep` only (`ps` where there is no /proc). It leads a session of its own, so Ctrl-C, hang-ups and kills of the
# wrapper's group pass it by. If somebody kills the guardian *and* the wrapper, nothing ends the command before it ends
# itself; then its recorded group keeps the next holder waiting for the TTL.

kind= id= start= timer=

# A process with our leader's number and another start time is a stranger. A leader that is gone proves nothing: its
# number is not given away while its group lives.
is_ours() {
  stat=$(cat "/proc/$id/stat" 2>/dev/null) || return 0
  # shellcheck disable=SC2086 # the fields after the name are split on purpose
  set -- ${stat##*) }
  shift 19
  [ "$1" = "$start" ]
}

children() {
  cat "/proc/$1/task/"*/children 2>/dev/null && return
  ps -A -o pid= -o ppid= 2>/dev/null | while read -r child parent; do
    [ "$parent" != "$1" ] || echo "$child"
  done
}

# Stops a process before its children are listed, so that none is born after the look.
freeze() {
  kill -s STOP "$1" 2>/dev/null || return
  frozen="$frozen $1"
  for member in $(children "$1"); do freeze "$member"; done
}

strike() {
  [ -n "$id" ] && is_ours || return
  if [ "$kind" = group ]; then
    kill -s KILL -- "-$id" 2>/dev/null
    return
  fi
  frozen=
  freeze "$id"
  # shellcheck disable=SC2086 # a list of numbers
  [ -z "$frozen" ] || kill -s KILL $frozen 2>/dev/null
}

# Without its guardian a countdown does not hear of renewals any more, so it must not strike: $$ is the guardian, also
# in this subshell.
countdown() {
  nap=
  trap 'kill -s KILL "$nap" 2>/dev/null; exit' TERM
  sleep "$1" &
  nap=$!
  wait "$nap" && kill -s 0 $$ 2>/dev/null && strike
}

stop_countdown() {
  [ -z "$timer" ] || kill -s TERM "$timer" 2>/dev/null
  timer=
}

# A function is read whole before it runs: an upgrade that rewrites this file cannot change a guardian at work.
main() {
  # A wrapper that dies right now does not read the answer any more; that is when the guardian is needed.
  trap '' PIPE
  while read -r word first second third; do
    case $word in
    watch)
      kind=$first id=$second start=$third
      echo ready
      ;;
    until)
      stop_countdown
      countdown "$first" &
      timer=$!
      ;;
    done)
      stop_countdown
      exit 0
      ;;
    esac
  done
  stop_countdown
  strike
  exit 0
}

main
