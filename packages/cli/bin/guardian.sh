#!/bin/sh
# The guardian ends the command when `holdfast run` dies. It reads lines from a pipe that only the
# wrapper holds:
#
#   watch group|tree ID STARTTIME   the processes to kill; the guardian answers `ready`
#   until SECONDS                   kill them by then, unless another `until` comes first
#   done the command has ended; exit
#
# When the pipe ends without `done`, the wrapper died of a signal that it could not handle. When
# `until` passes, the wrapper is stopped or stuck and the lease is over. In both cases the guardian
# kills the command.
#
# It is a shell because a shell starts in 1 ms, and another Node in 50 ms. It must also work without
# free memory: the kernel's out-of-memory killer is the likeliest sender of that SIGKILL. It uses
# builtins, `cat` and `sleep` only (`ps` where there is no /proc). It leads a session of its own, so
# Ctrl-C, hang-ups and kills of the wrapper's group pass it by. If the guardian *and* the wrapper
# are killed, nothing ends the command before it ends itself; then its recorded group keeps the next
# holder waiting for the TTL.

kind= id= start= timer=

# A process with the leader's number and another start time is a stranger. A leader that is gone
# proves nothing: the kernel does not reuse its number while its group lives.
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

# Stops a process before its children are listed, so that it starts none after the listing.
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

# Without its guardian a countdown learns of no renewal, so it must not strike. $$ is the guardian,
# also in this subshell.
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
  # A wrapper that dies now does not read the answer; exactly then the guardian is needed.
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
