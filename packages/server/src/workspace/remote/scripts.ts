/**
 * Scripts for the other server's `/bin/sh` (and bash for commands). An agent server can only run shell lines, so these scripts do
 * there the work of the runner here, in a folder that only its user can read.
 *
 *   <root>/<conversation>/            the folder of one conversation
 *     token  epoch  current  state    identity of the folder; newest owner; newest terminal job; variables and functions
 *     jobs/<job>/run                  script of the job, with its secrets; removes itself when it begins
 *     jobs/<job>/pid out err exit cwd process of the job, its output, its exit
 *     jobs/<job>/alive ns ctl in      lock and process namespace of its supervisor; pipes for signals and input
 *
 * Invariants
 *   S1. A job begins at most once, because its file `pid` can be created only once.
 *   S2. The outcome of a job whose supervisor has ended without an `exit` is unknown. The supervisor holds a lock as long as it lives, because
 *       where commands have process ids of their own, no other command can find it by its pid.
 *   S3. An owner with an older epoch starts no job, changes no file, and ends and types into no job.
 *   S4. Every process of a conversation has the mark in its environment, so that all of them can be found.
 */

/** Variable that marks the processes of a conversation; its value is the conversation's folder. */
export const MARK = 'PARLEY_REMOTE'
/** Finished jobs that are kept. */
const KEPT_JOBS = 200
const SECONDS_BETWEEN_LOOKS = 5

/** Prints the start time of a process, which tells it apart from a later process with the same pid; prints nothing when it has ended. */
const BORN = `born() {
  if { IFS= read -r x < "/proc/$1/stat"; } 2>/dev/null; then
    x=\${x##*) }; set -- $x; [ "$1" = Z ] && return 1
    shift 19; echo "$1"
  else ps -o lstart= -p "$1" 2>/dev/null; fi
}
`

/** What a script prints instead of its work for an owner with an older epoch. */
export const REPLACED = 'replaced by a newer owner'

/** A script for the newest owner only (S3). Its arguments follow the folder of the conversation and the epoch of the owner. */
export const fenced = (script: string): string =>
  `[ "$(cat "$1/epoch" 2>/dev/null || echo 0)" -le "$2" ] || { echo "${REPLACED}"; exit 0; }
shift 2
${script}`

/** Candidates for the folder of all conversations, which only its user can read. The first usable one is taken. */
const ROOTS = '"$HOME/.parley-hands" "/tmp/.parley-hands-$(id -u)"'

/** Sets `l` to the first line of the file in `$1`; to nothing without one. Without another process, which a busy machine starts late. */
const LINE = `line() { l=; { IFS= read -r l < "$1"; } 2>/dev/null; }
`

/** Sets `e` to the epoch of the newest owner of the conversation whose folder is `$1`. */
const EPOCH = `${LINE}epoch() { line "$1/epoch"; e=\${l:-0}; }
`

const CREATE_AND_DESCRIBE = `${EPOCH}W=$4
for R in ${ROOTS}; do
  [ -d "$R/$1/jobs" ] || (umask 077; mkdir -p "$R/$1/jobs") 2>/dev/null
  if [ -O "$R" ] && [ -w "$R/$1/jobs" ]; then B=$R/$1; break; fi
done
[ -n "$B" ] || { echo "no folder can be made in $HOME or /tmp"; exit 3; }
chmod 700 "$R" "$B"
epoch "$B"
if [ "$e" -lt "$3" ]; then echo "$3" > "$B/epoch"; e=$3; fi
[ -s "$B/token" ] || (set -C; echo "$2" > "$B/token") 2>/dev/null
M=
cd -- "$W" 2>/dev/null || M=$(mkdir -p -- "$W" 2>&1 && cd -- "$W" 2>&1) || M="it cannot be made or entered"
has_more() { [ $# -gt ${KEPT_JOBS} ]; }
cd "$B/jobs" && has_more * && ls -t | tail -n +${KEPT_JOBS + 1} | while IFS= read -r j; do [ -e "$j/exit" ] && rm -rf -- "$j"; done
echo "root $B"
line "$B/token"; echo "token $l"
echo "epoch $e"
line "$B/current"; echo "current $l"
echo "bash $(command -v bash)"
echo "user $(id -un 2>/dev/null || id -u)"
echo "host $(hostname 2>/dev/null || uname -n)"
echo "python $(command -v python3 || command -v python)"
echo "trouble $M"
`

/** Succeeds while the supervisor of the job in `$1` holds its lock; fails with 2 where that cannot be known by a lock. */
const HELD = `held() {
  [ -e "$1/alive" ] || return 2
  flock -n -s "$1/alive" true 2>/dev/null; case $? in 0) return 1 ;; 1) return 0 ;; *) return 2 ;; esac
}
`

/** Succeeds when the processes of the job in `$1` have other pids for this script than for their supervisor. */
const FOREIGN = `foreign() { n=$(cat "$1/ns" 2>/dev/null); [ -n "$n" ] && [ "$n" != "$(readlink /proc/self/ns/pid)" ]; }
`

/**
 * For bash; arguments: folder of the job, of the conversation, epoch, kind. Waits until the job's background processes have ended
 * too, because some servers end the remaining processes of a command that has ended. Obeys lines of the pipe `ctl`: `END`, or a signal and
 * the seconds between the checks before SIGKILL.
 */
export const SUPERVISE = `${BORN}J=$1; B=$2
[ "$(cat "$B/epoch" 2>/dev/null || echo 0)" -le "$3" ] || exit 0
[ ! -e "$J/pid" ] || exit 0
U=$(umask)
umask 077
if command -v flock > /dev/null; then
  exec 9>> "$J/alive"
  flock -n -x 9; case $? in 0) ;; 1) exit 0 ;; *) rm -f "$J/alive" ;; esac
fi
readlink /proc/self/ns/pid > "$J/ns" 2> /dev/null
(set -C; echo "$$ $(born $$)" > "$J/pid") 2>/dev/null || exit 0
mkfifo "$J/ctl" && exec 8<> "$J/ctl"
exec < /dev/null > /dev/null 2>&1
I=/dev/null
if [ "$4" = terminal ]; then
  echo "\${J##*/}" > "$B/current"
  mkfifo "$J/in" && I=$J/in
elif [ -e "$J/stdin" ]; then I=$J/stdin; fi
umask "$U"
set -m
if [ "$4" = terminal ]; then bash "$J/run" <> "$I" > "$J/out" 2>&1 8>&- 9>&- &
else bash "$J/run" < "$I" > "$J/out" 2> "$J/err" 8>&- 9>&- & fi
c=$!
marked() {
  p=
  for f in /proc/[0-9]*; do
    case $f in /proc/$$ | /proc/$BASHPID) ;; *) grep -qszxF "${MARK}=$B" "$f/environ" && p="$p \${f#/proc/}" ;; esac
  done
  [ -n "$p" ]
}
end() {
  marked && { kill -TERM $p; kill -CONT $p; }
  for i in 1 2 3 4 5 6 7 8 9 10; do marked || break; sleep 0.1; done
  marked && kill -KILL $p
  kill -KILL $$
}
obey() {
  unset ${MARK}
  while read -r s w; do
    [ "$s" != END ] || end
    kill -s "$s" -- "-$c"
    [ -n "$w" ] || continue
    for i in 1 2 3 4 5 6 7 8 9 10; do kill -s 0 -- "-$c" || continue 2; sleep "$w"; done
    kill -s KILL -- "-$c"
  done <&8
}
obey 9>&- &
r=$!
echo "$c" > "$J/group"
wait "$c"
echo "$?" > "$J/exit.new"; mv "$J/exit.new" "$J/exit"
rm -f "$J/run" "$J/stdin"
while kill -0 -- "-$c" 2> /dev/null; do sleep ${SECONDS_BETWEEN_LOOKS} 8>&- 9>&-; done
rm -f "$J/ctl" "$J/alive"
kill -KILL -- "-$r"
`

/**
 * Arguments: folder of the job, first byte, largest number of bytes of each stream, pauses between checks, 1 to print the output of a
 * running job, epoch. Waits until the job has ended, a newer owner has taken over, or the pauses are over.
 */
export const LOOK = `${BORN}${HELD}${EPOCH}J=$1; O=$2; M=$3
exited() { [ -e "$J/exit" ] || return 1; line "$J/exit"; s="exited $l"; }
state() {
  exited && return
  if [ -s "$J/pid" ]; then
    read -r p b < "$J/pid"
    held "$J"; h=$?
    if [ $h = 0 ] || { [ $h = 2 ] && [ "$(born "$p")" = "$b" ]; }; then s="running $p"
    else exited || s="gone 0"; fi
  elif [ -d "$J" ]; then s="ready 0"
  else s="absent 0"; fi
}
size() { n=0; [ ! -s "$1" ] || n=$(($(wc -c < "$1"))); }
code() { base64 | tr -d '\\n'; echo; }
cut_out() {
  if [ "$3" -le "$2" ]; then echo; echo
  elif [ $(($3 - $2)) -le "$M" ]; then tail -c +$(($2 + 1)) "$1" 2>/dev/null | head -c $(($3 - $2)) | code; echo
  else
    tail -c +$(($2 + 1)) "$1" | head -c $((M / 2)) | code
    head -c "$3" "$1" | tail -c $((M / 2)) | code
  fi
}
state
for d in $4; do
  epoch "\${J%/jobs/*}"
  [ "$e" -le "$6" ] || break
  case $s in running*|ready*) sleep "$d"; state ;; *) break ;; esac
done
size "$J/out"; o=$n
size "$J/err"
epoch "\${J%/jobs/*}"
echo $s $o $n $e
case $s in running*|ready*) [ "$5" = 1 ] || exit 0 ;; esac
if [ -s "$J/cwd" ]; then code < "$J/cwd"; else echo; fi
cut_out "$J/out" "$O" "$o"
cut_out "$J/err" 0 "$n"
`

/** The line of GREET before what LOOK prints. */
export const LOOKED = 'look'

/**
 * Arguments: conversation, proposed token, epoch, working directory. Creates the folders and prints their paths. With a job as a further
 * argument, then the first byte and the largest number of bytes, it also looks at that job.
 */
export const GREET = `${CREATE_AND_DESCRIBE}
[ -n "$5" ] || exit 0
echo ${LOOKED}
set -- "$B/jobs/$5" "$6" "$7" "" 0 "$3"
${LOOK}`

/** Arguments: folder of the job, signal, seconds between the checks before SIGKILL (empty: no SIGKILL). */
export const SIGNAL = `${HELD}${FOREIGN}J=$1
[ -e "$J/exit" ] && exit 0
c=$(cat "$J/group" 2>/dev/null) || exit 0
if foreign "$J"; then held "$J" && echo "$2 $3" 1<> "$J/ctl"; exit 0; fi
kill -s "$2" -- "-$c" 2>/dev/null || exit 0
[ -n "$3" ] || exit 0
for i in 1 2 3 4 5 6 7 8 9 10; do kill -s 0 -- "-$c" 2>/dev/null || exit 0; sleep "$3"; done
kill -s KILL -- "-$c" 2>/dev/null
exit 0
`

/** Argument: folder of the job. Prevents a job that has not begun from beginning. */
export const CANCEL = `mkdir -p -- "$1"
(set -C; echo "0 0" > "$1/pid") 2>/dev/null
rm -f "$1/run" "$1/stdin"
exit 0
`

/** Arguments: folder of the job, id of this call, bytes in base64. Types once per call. */
export const TYPE = `J=$1
[ -e "$J/exit" ] && exit 0
mkdir "$J/typed-$2" 2>/dev/null || exit 0
printf %s "$3" | base64 -d 1<> "$J/in"
`

/** Supervisors whose processes have other pids for this script end them; so does one that has just begun and does not yet say which. */
const END_ALL = `${HELD}${FOREIGN}end_supervised() {
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    l=
    for J in "$B"/jobs/*; do
      [ -e "$J/alive" ] && { [ ! -e "$J/ns" ] || foreign "$J"; } && held "$J" || continue
      l=1
      [ ! -p "$J/ctl" ] || echo END 1<> "$J/ctl"
    done
    [ -n "$l" ] || return 0
    sleep 0.2
  done
}
living() { grep -lzxF "${MARK}=$B" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3; }
end_all() {
  end_supervised
  p=$(living); [ -n "$p" ] || return 0
  kill -TERM $p 2>/dev/null; kill -CONT $p 2>/dev/null
  for i in 1 2 3 4 5 6 7 8 9 10; do p=$(living); [ -n "$p" ] || return 0; sleep 0.1; done
  kill -KILL $p 2>/dev/null
}
`

/** Argument: folder of the conversation. Ends all its processes and removes the state of its shell. */
export const RESET = `B=$1
${END_ALL}end_all
rm -f "$B/state" "$B/current"
exit 0
`

/** Argument: conversation. Ends its processes and removes its folder. */
export const RELEASE = `${END_ALL}for R in ${ROOTS}; do
  B=$R/$1
  [ -O "$R" ] && [ -d "$B" ] || continue
  end_all
  rm -rf -- "$B"
done
exit 0
`
