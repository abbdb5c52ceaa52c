#!/bin/sh
# The command of each run: it holds a file by flock(2) while it works, so that the kernel sees two at work at once.
#
# usage: witness.sh FOLDER LOCK RUN x|s SLOTS SECONDS TEMPER CODE [COMMAND...]
#
#   x|s      alone, or shared with others of the same kind
#   SLOTS    how many may work at once: each takes a file of its own
#   TEMPER   what it does on signals: plain, stubborn (ignores them), slow (cleans up for a while and exits with 5),
#            family (as plain, and a child of it holds the file too)
#
# With a COMMAND it works by that, and exits as that does.
#
# It works on for as long as there is a file FOLDER/stay.RUN. It appends lines to FOLDER/log, each in one write: UPTIME KIND RUN TOKEN PID REST

# The tools that come first in the PATH of the run do nothing.
PATH=$WITNESS_PATH

folder=$1 lock=$2 run=$3 how=$4 slots=$5 seconds=$6 temper=$7 code=$8

# Shells remark on children that a signal ended.
exec 2>/dev/null

say() {
  [ -n "$up" ] || read -r up _ </proc/uptime
  printf '%s %s %s %s %s %s\n' "$up" "$1" "$run" "${HOLDFAST_TOKEN:--}" $$ "$2" >>"$folder/log"
  up=
}
up=

# The processes that have the file open, by their groups: each run leads one. A shell moves it to another number now and then.
holders() {
  groups=
  for file in $(find /proc/[0-9]*/fd -lname "$folder/$lock.*" 2>/dev/null); do
    other=${file#/proc/} other=${other%%/*}
    stat=$(cat "/proc/$other/stat" 2>/dev/null) || continue
    # The fields after the name, which can hold blanks: state, parent, group.
    # shellcheck disable=SC2086 # split on purpose
    set -- ${stat##*) }
    [ "$3" = $$ ] || groups="$groups$3,"
  done
  echo "$groups"
}

enter() {
  slot=0
  while [ "$slot" -lt "$slots" ]; do
    exec 9>>"$folder/$lock.$slot"
    flock -n "-$how" 9 && return
    slot=$((slot + 1))
  done
  return 1
}

case $temper in
stubborn) trap '' TERM INT HUP ;;
slow) trap 'sleep 0.3 9>&-; say EXIT 5; exit 5' TERM ;;
esac

if ! enter; then
  # The look takes a while: the judge wants to know who had the file now.
  read -r up _ </proc/uptime
  say OVERLAP "$(holders)"
  exit 99
fi
say ENTER "$slot"
# A child that was left behind must not look like a command at work, unless that is the question.
rest() {
  if [ "$temper" = family ]; then sleep "$1"; else sleep "$1" 9>&-; fi
}
work() {
  rest "$seconds"
  # A fault has met it: it must still be at work when the lease is over.
  while [ -e "$folder/stay.$run" ]; do rest 0.05; done
}
shift 8
if [ $# -gt 0 ]; then
  "$@" 9>&-
  code=$?
  say EXIT "$code"
  exit "$code"
fi
if [ "$temper" = family ]; then (work); else work; fi
say EXIT "$code"
exit "$code"
