# The guardian ends the command when `holdfast run` dies. It reads lines from a pipe that only the
# wrapper holds:
#
#   watch session ID STARTTIME             the processes to kill: those of a session, or the
#   watch tree ID STARTTIME SESSION MARK   descendants of a process, and those of SESSION that have
#                                          MARK in their environment; the guardian answers `ready`
#   until SECONDS                          kill them by then, unless another `until` comes first
#   done                                   the command has ended; exit
#
# When the pipe ends without `done`, the wrapper died of a signal that it could not handle. When
# `until` passes, the wrapper is stopped or stuck and the lease is over. In both cases the guardian
# kills the command.
#
# It must also work when the user can start no process and the machine has no memory: such a job,
# or the kernel's out-of-memory killer, is what ends wrappers. So it is a process that is there
# already and starts no other: bash or busybox, which start in 3 ms, with builtins only, since
# `read -t` measures the time. It looks up no program in PATH. Other shells cannot read with a limit;
# where neither is there, src/cli/supervise/node-guardian.ts does the same.
#
# It leads a session of its own, so Ctrl-C, hang-ups and kills of the wrapper's group pass it by. If
# the guardian *and* the wrapper are killed, nothing ends the command before it ends itself; then its
# recorded group keeps the next holder waiting for the TTL.

kind= id= start= session= mark=
frozen=

# Reads a process: its state, session and start time. Fails when it is gone.
look() {
  text=
  # The name of a program can have line breaks. Without another process only `read` reads a file.
  while IFS= read -r line || [ -n "$line" ]; do text="$text $line"; done <"/proc/$1/stat" || return 1
  # shellcheck disable=SC2086 # the fields after the name are split on purpose
  set -- ${text##*) }
  state=$1 in_session=$4
  shift 19 && started=$1
}

# A process with the leader's number and another start time is a stranger. A leader that is gone
# proves nothing: the kernel does not reuse its number while its session lives.
is_ours() {
  look "$id" || return 0
  [ "$started" = "$start" ]
}

has_mark() {
  [ -n "$mark" ] || return
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *"$mark"*) return 0 ;; esac
  done <"/proc/$1/environ"
  return 1
}

# Whether a process belongs to the session, and in a terminal to the command.
is_member() {
  look "$1" && [ "$state" != Z ] && [ "$in_session" = "$session" ] || return
  [ "$kind" = session ] || has_mark "$1"
}

# Stops a process before its children are listed, so that it starts none after the listing.
freeze() {
  case "$frozen " in *" $1 "*) return ;; esac
  kill -s STOP "$1" || return
  frozen="$frozen $1"
  for task in "/proc/$1/task/"*; do
    children=
    read -r children <"$task/children"
    for child in $children; do freeze "$child"; done
  done
}

# Stops the members of the session, until a look finds no new one.
freeze_session() {
  for round in 1 2 3 4 5 6 7 8 9 10; do
    before=$frozen
    for folder in /proc/[0-9]*; do
      case "$frozen " in *" ${folder#/proc/} "*) continue ;; esac
      is_member "${folder#/proc/}" && freeze "${folder#/proc/}"
    done
    [ "$frozen" != "$before" ] || return
  done
}

# A look at all processes takes longer than the lease may last. So those that can be found quickly
# die first, the group and the descendants. The lock stays taken until the group is gone, so no
# descendant outlives the group, as one of timeout would, which has another group.
strike() {
  [ -n "$id" ] || return
  frozen=
  if [ "$kind" = session ]; then
    is_ours || return
    kill -s STOP -- "-$id"
    freeze "$id"
    # shellcheck disable=SC2086 # a list of numbers
    kill -s KILL -- "-$id" $frozen
  else
    # A leader that is gone leaves its number to strangers.
    look "$id" && [ "$started" = "$start" ] && freeze "$id"
  fi
  freeze_session
  # shellcheck disable=SC2086 # a list of numbers
  [ -z "$frozen" ] || kill -s KILL -- $frozen
}

# Reads a line within the time that is left, or without a limit. Fails at the end of the time, when
# the wrapper is late, and at that of the pipe, when it is dead.
next_line() {
  wrapper=dead
  if [ -z "$left" ]; then
    read -r word first second third fourth fifth
    return
  fi
  read -r -t "$left" word first second third fourth fifth && return
  left=
  # A guardian that was stopped finds its time over, and later lines unread.
  if read -r -t 0; then
    read -r word first second third fourth fifth
    return
  fi
  wrapper=late
  return 1
}

# A function is read whole before it runs: an upgrade that rewrites this file cannot change a guardian at work.
main() {
  # A wrapper that dies now does not read the answer; exactly then the guardian is needed.
  trap '' PIPE
  left=
  while :; do
    if next_line; then
      case $word in
      watch)
        kind=$first id=$second start=$third session=${fourth:-$second} mark=$fifth
        echo ready
        ;;
      until) left=$first ;;
      done) exit 0 ;;
      esac
    else
      strike
      [ "$wrapper" = late ] || exit 0
    fi
  done
}

main
