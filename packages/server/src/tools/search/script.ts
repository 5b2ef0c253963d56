/**
 * The search as a script for `/bin/sh`, so that it runs in every workspace. It uses ripgrep where it is installed;
 * otherwise `find`
 * and `grep`, with git for ignored files. Both return the same result. Sources: agent-core.md 8.7, 8.8.
 *
 * Arguments: kind (`names` or `text`), directory, expression for names, `not` to invert it, `hidden` to include hidden
 * names,
 * expression for text, the same for `grep -E` (empty: not possible). Prints the directory, then modification time and
 * path of the
 * newest files, one per line. Names with a line break are left out.
 */
export const SEARCH = `kind=$1 dir=$2 names=$3 not=$4 hidden=$5 text=$6 ere=$7
utf8=C.UTF-8
export LC_ALL=C
case $dir in '~') dir=$HOME ;; '~/'*) dir=$HOME/\${dir#'~/'} ;; esac
printf '%s\\n' "$dir"
[ -d "$dir" ] || exit 10
CDPATH= cd -- "$dir" 2>/dev/null || exit 11

has() { command -v "$1" >/dev/null 2>&1; }
if has rg; then walker=rg; else walker=find; fi
if xargs -0 -r true </dev/null >/dev/null 2>&1; then each='xargs -0 -r'; else each='xargs -0'; fi
# The characters that a pattern of letters alone can mean are the same in every encoding.
case $text in *[!\\ -~]*) written=$utf8 ;; *) written=C ;; esac

ripgrep() {
  if [ -n "$hidden" ]; then rg --no-config --no-messages --color never --hidden --glob '!.git/' "$@"
  else rg --no-config --no-messages --color never "$@"; fi
}
bare() { sed 's|^\\./||'; }
named() {
  if [ -z "$names" ]; then cat
  elif [ -n "$not" ]; then LC_ALL=$utf8 grep -avE -e "$names"
  else LC_ALL=$utf8 grep -aE -e "$names"; fi
}
# Four lines to a path; the third is the rule that concerns it, empty or negated where the file is kept.
kept() {
  if has git && git rev-parse --is-inside-work-tree >/dev/null 2>&1 && ! git check-ignore --no-index -q . 2>/dev/null; then
    tr '\\n' '\\000' | git check-ignore --no-index -v -n -z --stdin 2>/dev/null | tr '\\000' '\\n' |
      awk 'NR % 4 == 3 { rule = $0 } NR % 4 == 0 && (rule == "" || rule ~ /^!/)'
  else cat; fi
}
walk() {
  line='
'
  if [ -n "$hidden" ]; then skip=.git; else skip='.?*'; fi
  find . \\( -name "$skip" -o -name "*$line*" \\) -prune -o "$@" 2>/dev/null | bare | kept
}
regular() { walk -type f -print; }
# A link to a file is a file of that name; where it leads is looked into there.
linked() { walk -type l -exec test -f {} ';' -print; }
newest() {
  case $(stat -c %.9Y . 2>/dev/null) in
    *.*) tr '\\n' '\\000' | $each stat -L -c '%.9Y %n' -- ;;
    ?*) tr '\\n' '\\000' | $each stat -L -c '%Y %n' -- ;;
    *) tr '\\n' '\\000' | $each stat -L -f '%Fm %N' -- ;;
  esac 2>/dev/null | LC_ALL=C sort -k1,1nr -k2 | head -n 101
}

if [ "$kind" = names ]; then
  { if [ $walker = rg ]; then ripgrep --files . | bare; else regular; fi; linked; } | named | newest
elif [ $walker = rg ]; then
  rg --no-config --ignore-case -e "$text" /dev/null >/dev/null; [ $? -lt 2 ] || exit 12
  ripgrep --files-with-matches --ignore-case -e "$text" . | bare | named | newest
else
  [ -n "$ere" ] || exit 13
  LC_ALL=$written grep -iE -e "$ere" /dev/null; [ $? -lt 2 ] || exit 12
  regular | named | tr '\\n' '\\000' | LC_ALL=$written $each grep -lisIE -e "$ere" -- | newest
fi
exit 0
`
